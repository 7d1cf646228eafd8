"""Charging: how accounts stand, and the one path by which answers, releases and trips are charged (extra ``sql``)."""

from errorfloor.charging.settling import NO_LIMITS, Charging, Grant, look
from errorfloor.charging.standing import QuotaStanding, Standing

__all__ = ["NO_LIMITS", "Charging", "Grant", "QuotaStanding", "Standing", "look"]
