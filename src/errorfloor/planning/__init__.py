"""What listed questions would take together, and which floors would allow them; nothing is charged.

``listed`` has the questions, and the floors to compare, ``planner`` prices all of it, ``floor_plan`` is the
outcome. ``loss_so_far`` states accounts as (ε, δ).
"""
