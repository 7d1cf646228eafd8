"""Products of intervals, half-lines and lines: polynomials of high degree along each axis.

``solver`` leads from a problem to its noise: ``scaled`` chooses units, ``line`` and ``potential`` describe one axis and
the loss, ``tensor`` applies the operator, ``davidson`` finds its least eigenpair. ``lower_bound`` proves how good that
is, from a flux (``flux``, ``flux_axis``).
"""
