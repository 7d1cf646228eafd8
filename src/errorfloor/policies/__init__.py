"""Policies: noise that depends on the true value, where the answer itself is constrained."""
