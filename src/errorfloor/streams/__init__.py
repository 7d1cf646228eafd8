"""Streams: trajectories released step by step, one draw and one charge a trip."""
