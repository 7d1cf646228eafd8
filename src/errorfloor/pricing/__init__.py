"""Plan + public facts → bounds on derivatives and evaluation error, and the charge.

Where the price of what is asked comes from:

============================================  =====================================================
``sum``, ``avg`` and what they are made of      ``scene``, from the slopes of each row in ``rows``
``var_*``, ``stddev_*``, ``covar_*``, ``corr``,     ``covariance``; ``var_pop(x)`` is the covariance of x
``regr_slope``                                with itself
a mean with weights                           ``weighted_mean``
``exp``, ``ln``, ``sqrt``, ``above``, ``between``     ``functions``
sums, products and quotients of all these     ``formulas``
what one owner can do                         ``owners``
presence, in tables that protect records      ``records`` for groups, ``sql.record_ranges`` for a row
all of it together, as charges                ``bounding``, ``joint``
============================================  =====================================================

``scene`` says which public facts are needed, ``facts`` asks for them, ``keys`` has the groups, ``interval`` the
arithmetic of bounds, ``words`` how a plan is quoted, and why a question has no price. A new function: its value,
slope and domain in ``functions.FUNCTIONS``. A new kind of aggregate: a module like ``covariance`` and its case in
``formulas``.
"""

from errorfloor.accounts import Account, Charge, cell_text
from errorfloor.pricing.bounding import Bounds, OutputBounds, RowSlopes, bounds
from errorfloor.pricing.facts import FactsCache
from errorfloor.pricing.joint import Noised, charges
from errorfloor.pricing.owners import OwnerCounts

__all__ = [
    "Account",
    "Bounds",
    "Charge",
    "FactsCache",
    "Noised",
    "OutputBounds",
    "OwnerCounts",
    "RowSlopes",
    "bounds",
    "cell_text",
    "charges",
]
