"""The declared prior of a column as a law on the values that can be stored."""

from errorfloor.catalogue.columns import PrivateColumn
from errorfloor.floors.prior import LatticeNormal


def believed(column: PrivateColumn) -> LatticeNormal | None:
    """Give what everybody may be assumed to believe about an entry in advance; None if nothing is declared.

    >>> prior = {"mean": 10, "deviation": 0.25}
    >>> law = believed(PrivateColumn(range=(0, 50), resolution=1, floor=2.0, prior=prior))
    >>> law.count, round(law.spread, 3)
    (51, 0.026)
    """
    if column.prior is None:
        return None
    first, last = column.steps
    return LatticeNormal(
        mean=column.prior.mean,
        deviation=column.prior.deviation,
        low=float(column.low),
        spacing=float(column.resolution),
        count=last - first + 1,
    )
