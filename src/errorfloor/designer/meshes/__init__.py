"""Meshes of simplices: of polygons and polytopes, and of what a loss leaves of unbounded ones.

``region`` makes a coarse mesh of a support, cut off where it is unbounded; ``isotropic`` has the coordinates, ``mesh``
the mesh itself and its refinement.
"""
