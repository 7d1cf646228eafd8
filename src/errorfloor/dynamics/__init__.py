"""Dynamics: one draw that protects a whole trajectory."""
