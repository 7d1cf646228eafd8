"""Finite elements on polygons and polytopes, and polynomials in ellipsoids."""
