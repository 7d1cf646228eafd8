"""Which noises may be counted in A₁: those whose answers the table covers at their own charge I·d², or at more."""

from errorfloor.noise import Airy, Gaussian, LinearImage, Maxwell, Noise, Product, RaisedCosine, Translation

MAXWELL, AIRY = 1.56, 1.76  # their charges over those of raised cosines that dominate them: 1.5499… and 1.7500…


def counted_as(noise: Noise) -> float | None:
    """Give c so that the table covers answers with this noise at the charge c·I·d²; None if nothing is proved.

    Raised cosines and normal laws are covered at their own charge, by `table.proof.md`, parts 1 and 6. Maxwell
    and Airy noise are dominated by raised cosines of 1.56 and 1.76 times the charge, by part 8. So are all of them
    moved, and several of them drawn independently, one per coordinate: each is an answer of its own. Any other noise is
    counted in A₂, also one that is found harmless at the charges that are tried: what is tried is not proved.

    >>> from errorfloor.noise import Laplace
    >>> counted_as(RaisedCosine(-1.0, 1.0)), counted_as(Maxwell(1.0)), counted_as(Laplace(1.0))
    (1.0, 1.56, None)
    """
    match noise:
        case Translation():
            return counted_as(noise.base)
        case LinearImage() if noise.dimension == noise.base.dimension == 1:  # mirrored, or of another scale
            return counted_as(noise.base)
        case Product():
            each = [counted_as(one) for one in noise.factors]
            known = [one for one in each if one is not None]
            return max(known) if len(known) == len(each) else None
        case RaisedCosine() | Gaussian():
            return 1.0
        case Maxwell():
            return MAXWELL
        case Airy():
            return AIRY
        case _:
            return None


def counted_apart(noise: Noise) -> bool:
    """Say whether answers with this noise are covered by the table at the charge I·d².

    >>> counted_apart(RaisedCosine(-1.0, 1.0)), counted_apart(Maxwell(1.0))
    (True, False)
    """
    return counted_as(noise) == 1
