"""Random bits: secure by default; sticky, from a key and a label; reproducible, by a visibly different name.

``bits`` is the face of all of them, ``sticky`` has the kinds that are key streams, and ``elementary`` the functions
that samplers use, with the same digits on every machine.
"""

from typing import Any

import numpy as np

from errorfloor.errors import InputError
from errorfloor.random.bits import Bits, GeneratorBits, ReproducibleBits
from errorfloor.random.sticky import RowBits, SecureBits, StickyBits

SAMPLER = 2  # the version of how noise is drawn from bits, a part of every label; a change of it is other noise

__all__ = ["SAMPLER", "Bits", "GeneratorBits", "ReproducibleBits", "RowBits", "SecureBits", "StickyBits", "bits_from"]


def bits_from(rng: Any) -> Bits:
    """Give the source meant by an ``rng`` argument: None is secure, a seed or a NumPy generator is reproducible.

    >>> type(bits_from(None)).__name__, type(bits_from(7)).__name__
    ('SecureBits', 'ReproducibleBits')
    """
    if rng is None:
        return SecureBits()
    if isinstance(rng, Bits):
        return rng
    if isinstance(rng, np.random.Generator):
        return GeneratorBits(rng)
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool):
        return ReproducibleBits(int(rng))
    raise InputError(
        f"rng must be None for secure bits, or a Bits, a NumPy Generator or a seed for reproducible ones, "
        f"got {type(rng).__name__}"
    )
