"""Charging: how accounts stand, and the one path by which answers, releases and trips are charged (extra ``sql``).

``settling`` is that path: charge, durably; then look; then one fixed failure for whatever goes wrong. ``standing`` says
how accounts and quotas stand, in numbers and words; ``refusal`` says which floor or quota a charge would break.
"""

from errorfloor.charging.settling import NO_LIMITS, Charging, Grant, look
from errorfloor.charging.standing import QuotaStanding, Standing

__all__ = ["NO_LIMITS", "Charging", "Grant", "QuotaStanding", "Standing", "look"]
