"""The same noise in the terms of differential privacy and of information theory.

=========================  ==============================================================================
``delta``                    noise + sensitivity + ε → the smallest δ, exactly
``epsilon``                  noise + sensitivity + δ → the smallest ε, rounded up
``laplace``, ``gaussian``    the noise that a wanted guarantee takes
``compose``                  many answers → a ``Composition`` that bounds them all (extra ``dp``)
``entropy_bits``             the differential entropy of a noise
``mutual_information``       how many bits an answer gives about a value with a stated prior
``compare``                  several noises by every measure at once, floors too: a ``Compared`` each
=========================  ==============================================================================

(ε, δ)-differential privacy: whatever set of answers is looked at, its probability under one record is at
most e^ε times that under another, plus δ. Sensitivity is how far one record can move the true answer.

Within: ``shifts`` brings a noise and a shift to standard form; ``closed_forms``, ``hockey_stick``
and ``ball`` give the curve of one shift; ``curve`` takes the worst of them; ``mechanisms``,
``accountant``, ``shannon`` and ``comparison`` build on it.
"""

from errorfloor.dp.accountant import Composition, compose
from errorfloor.dp.comparison import Compared, compare
from errorfloor.dp.curve import delta, epsilon
from errorfloor.dp.mechanisms import gaussian, laplace
from errorfloor.dp.shannon import entropy_bits, mutual_information

__all__ = [
    "Compared",
    "Composition",
    "compare",
    "compose",
    "delta",
    "entropy_bits",
    "epsilon",
    "gaussian",
    "laplace",
    "mutual_information",
]
