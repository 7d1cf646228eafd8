"""Charging: how accounts stand, and the one path by which answers, releases and trips are charged (extra ``sql``).

``settling`` is that path: charge, durably; then draw and look; one fixed failure for whatever goes wrong then.
``standing`` says how accounts and quotas stand, in numbers and words; ``refusal`` says which floor or quota a charge
would break, or that the vault has lost parts of what would be read; ``answering.advice`` what to ask instead.
"""

from errorfloor.charging.settling import NO_LIMITS, Charging, Grant, look
from errorfloor.charging.standing import QuotaStanding, Standing

__all__ = ["NO_LIMITS", "Charging", "Grant", "QuotaStanding", "Standing", "look"]
