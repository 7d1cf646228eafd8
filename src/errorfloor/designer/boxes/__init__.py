"""Products of intervals, half-lines and lines: polynomials of high degree along each axis.

``solver`` leads from a problem, in units of its own, to its noise: ``line`` describes one axis and the loss, ``tensor``
applies the operator and finds its least eigenpair. ``lower_bound`` proves how good that is, from a ``flux``.
"""
