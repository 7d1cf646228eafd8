"""What every door of a server shares: who asks, in which turn, within which limits, and what is written down of it.

=====================  =====================================================================================
who asks               ``token``, ``tokens``; ``auth``, ``provider``, and ``store``, which has the sessions
how much               ``limits``, ``size``; ``shared`` and ``store`` count for all processes
one request's course   ``door``, ``course``, ``threads``, ``grid`` (when a reply leaves)
what became of it      ``visit``, ``audit``, ``metrics``
what is sent           ``models`` (requests and replies), ``replies``, ``supports``; ``failures`` and ``mistakes``
beside questions       ``current`` (a changed catalogue), ``workshop`` (designs)
=====================  =====================================================================================

A new setting of ``errorfloor serve``: a field in ``settings``; its option, its check and its line in the documentation
follow from it. A new field of a request or reply: ``models``, or the file of its route.
"""
