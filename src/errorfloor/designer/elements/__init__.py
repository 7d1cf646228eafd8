"""Finite elements on polygons and polytopes, and polynomials in ellipsoids.

``ground_state`` chooses between the two; ``solver`` keeps a problem's mesh and matrices, finds the least eigenvalue and
refines the mesh where ``flux`` measures what is left. ``ellipsoid`` needs no mesh.
"""
