"""Meshes of simplices: of polygons and polytopes, and of what a loss leaves of unbounded ones.

``region`` has the coordinates and makes a coarse mesh of a support, cut off where it is unbounded; ``mesh`` the mesh
itself and its refinement.
"""
