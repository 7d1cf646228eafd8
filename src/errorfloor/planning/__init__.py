"""What listed questions would take together, and which floors would allow them; nothing is charged."""
