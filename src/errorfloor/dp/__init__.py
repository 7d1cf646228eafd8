"""The same noise in the terms of differential privacy.

=========================  ==============================================================================
``delta``                    noise + sensitivity + ε → the smallest δ, exactly
``epsilon``                  noise + sensitivity + δ → the smallest ε, rounded up
``laplace``, ``gaussian``    the noise that a wanted guarantee takes
=========================  ==============================================================================

(ε, δ)-differential privacy: whatever set of answers is looked at, its probability under one record is at
most e^ε times that under another, plus δ. Sensitivity is how far one record can move the true answer.

Within: ``shifts`` brings a noise and a shift to standard form; ``closed_forms`` and ``hockey_stick`` give
the curve of one shift; ``curve`` takes the worst of them, and scales noise to it.
"""

from errorfloor.dp.curve import delta, epsilon, gaussian, laplace

__all__ = ["delta", "epsilon", "gaussian", "laplace"]
