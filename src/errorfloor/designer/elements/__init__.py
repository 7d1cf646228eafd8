"""Finite elements on polygons and polytopes, and polynomials in ellipsoids.

``ground_state`` chooses between the two; ``solver`` keeps a problem's mesh and matrices (``assembly``), ``adaptive``
refines the mesh, ``eigen`` finds the least eigenvalue, ``flux`` measures what is left. ``ellipsoid`` needs no mesh.
"""
