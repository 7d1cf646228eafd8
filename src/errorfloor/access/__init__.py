"""What every door of a server shares: who asks, in which turn, within which limits, and what is written down of it.

=====================  =====================================================================================
who asks               ``token``, ``tokens``, ``scram``, ``uses``; ``auth``, ``sessions``, ``provider``, ``origins``
how much               ``rates``, ``under_way``, ``attempts``, ``size``, ``shared`` and ``store`` for all processes
one request's course   ``listener``, ``door``, ``course``, ``turns``, ``threads``, ``grid`` (when a reply leaves),
                       ``idempotency``
what became of it      ``visit``, ``book``, ``audit``, ``metrics``
what is sent           ``models`` (requests and replies), ``replies``, ``supports``; ``failures`` and ``mistakes``
beside questions       ``current`` (a changed catalogue), ``designing``, ``peers``, ``workshop`` (designs), ``probe``
=====================  =====================================================================================

A new setting of ``errorfloor serve``: a field in ``settings``; its option, its check and its line in the documentation
follow from it. A new field of a request or reply: ``models``.
"""
