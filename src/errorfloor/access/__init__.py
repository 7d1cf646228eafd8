"""What every door of a server shares: who asks, in which turn, within which limits, and what is written down of it.

``token``, ``tokens``, ``auth``, ``sessions`` and ``provider`` say who asks; ``rates``, ``under_way``, ``attempts`` and
``size`` how much; ``door``, ``course``, ``turns``, ``threads`` and ``grid`` take a question from the door to its answer
and decide when it leaves; ``failures``, ``audit``, ``metrics`` and ``book`` say what became of it.
"""
