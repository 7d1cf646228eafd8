"""Meshes of simplices: of polygons and polytopes, and of what a loss leaves of unbounded ones."""
