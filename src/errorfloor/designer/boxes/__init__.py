"""Products of intervals, half-lines and lines: polynomials of high degree along each axis."""
