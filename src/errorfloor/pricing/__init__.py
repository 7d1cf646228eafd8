"""Plan + public facts → bounds on derivatives and evaluation error, and the charge."""

from errorfloor.accounts import Account, Charge, cell_text
from errorfloor.pricing.bounding import Bounds, OutputBounds, RowSlopes, bounds, charges
from errorfloor.pricing.fetch import FactsCache
from errorfloor.pricing.owners import OwnerCounts

__all__ = [
    "Account",
    "Bounds",
    "Charge",
    "FactsCache",
    "OutputBounds",
    "OwnerCounts",
    "RowSlopes",
    "bounds",
    "cell_text",
    "charges",
]
