"""What a session can be told with SET, and asked with SHOW."""

import re
from typing import Any

from errorfloor.access.door import grant_of
from errorfloor.access.failures import DoorError
from errorfloor.access.tokens import Token
from errorfloor.catalogue.near import near
from errorfloor.charging.settling import Grant
from errorfloor.errors import InputError
from errorfloor.postgres.values import FLAGS
from errorfloor.sql_text import WISHES, wished

OWN = {  # with their defaults; "" is none
    "max_error": "",
    "spend": "",
    "bounds": "on",
    "charge": "off",
    "charge_per_day": "",
    "dry": "off",
}
REPORTED = {  # to every client at the start, and when they change
    "server_version": "15.0",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "application_name": "",
    "is_superuser": "off",
    "session_authorization": "",
    "in_hot_standby": "off",
    "default_transaction_read_only": "off",
}
FIXED = (
    *("server_version", "server_encoding", "integer_datetimes", "is_superuser", "DateStyle", "TimeZone"),
    *("client_encoding", "standard_conforming_strings", "in_hot_standby", "IntervalStyle"),
    *("session_authorization", "role"),
)
ACCEPTED = {  # what tools set, and what means nothing here
    **REPORTED,
    **{"client_min_messages": "notice", "extra_float_digits": "1", "search_path": "public", "bytea_output": "hex"},
    **{"transaction_isolation": "read committed", "default_transaction_isolation": "read committed"},
    **{"transaction_read_only": "off", "transaction_deferrable": "off", "statement_timeout": "0", "lock_timeout": "0"},
    **{"idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0", "max_identifier_length": "63"},
    **{"row_security": "on", "jit": "off", "geqo": "on", "synchronize_seqscans": "on", "escape_string_warning": "on"},
    **{"xmloption": "content", "check_function_bodies": "on", "work_mem": "4MB", "lc_messages": "C", "lc_collate": "C"},
    **{"lc_monetary": "C", "lc_numeric": "C", "lc_time": "C", "server_version_num": "150000", "role": "none"},
    **{
        "ssl_renegotiation_limit": "0",
        "datestyle": "ISO, MDY",
        "cursor_tuple_fraction": "0.1",
        "plan_cache_mode": "auto",
    },
    **{"gp_session_role": "", "session_replication_role": "origin", "synchronous_commit": "on", "max_index_keys": "32"},
}
BY_NAME = {name.lower(): name for name in (*OWN, *ACCEPTED)}


class SessionSettings:
    """How exact answers should be, what may be charged, and what is shown; names are read in any case.

    >>> settings = SessionSettings()
    >>> settings.set("MAX_ERROR", "0.5"), settings.show("max_error"), settings.wish()
    ('max_error', '0.5', {'max_error': 0.5})
    >>> settings.set("max_eror", "0.5")
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: there is no setting 'max_eror': did you mean max_error?
    """

    def __init__(self, values: dict[str, str] | None = None) -> None:
        self._values = {**ACCEPTED, **OWN} if values is None else dict(values)
        self._defaults = dict(self._values)

    def copy(self) -> "SessionSettings":
        """Give the same settings, to go back to."""
        other = SessionSettings(self._values)
        other._defaults = self._defaults
        return other

    def started(self) -> "SessionSettings":
        """Give the same settings, which are the defaults from now on."""
        return SessionSettings(self._values)

    def reset(self) -> "SessionSettings":
        """Give the defaults."""
        return SessionSettings(self._defaults)

    def set(self, name: str, text: str) -> str:
        """Set one, and give its name; the word DEFAULT sets it as it was.

        Raises DoorError (422) for a setting that does not exist, InputError for a value that it cannot have.
        """
        known = _known(name)
        value = self._defaults[known] if text.lower() == "default" else text
        if known in WISHES and value:
            wished(known, value)
            self._values |= dict.fromkeys(WISHES, "")  # one replaces the other
        elif known in ("bounds", "dry"):
            value = "on" if _flag(known, value) else "off"
        elif known in ("charge", "charge_per_day") and value.lower() not in (*FLAGS, ""):
            _share(known, value)
        elif known == "client_encoding" and re.sub("[^a-z0-9]", "", value.lower()) not in ("utf8", "unicode"):
            raise InputError(f"client_encoding is UTF8 here, got {value[:40]!r}")
        if known not in FIXED:
            self._values[known] = value
        return known

    def show(self, name: str) -> str:
        """Give how one stands."""
        return self._values[_known(name)]

    def all(self) -> dict[str, str]:
        """Give those that are this door's own."""
        return {name: self._values[name] for name in OWN}

    def wish(self) -> dict[str, Any]:
        """Give how exact answers should be."""
        return {name: wished(name, self._values[name]) for name in WISHES if self._values[name]}

    @property
    def bounds(self) -> bool:
        """Whether certain intervals are shown."""
        return self._values["bounds"] == "on"

    @property
    def dry(self) -> bool:
        """Whether dummy rows answer."""
        return self._values["dry"] == "on"

    @property
    def notices(self) -> bool:
        """Whether notices are wanted."""
        return self._values["client_min_messages"].lower() not in ("warning", "error", "fatal", "panic")

    @property
    def charge(self) -> bool | float:
        """Whether questions may be charged, or how much each of them."""
        text = self._values["charge"].lower()
        return FLAGS[text] if text in FLAGS else bool(text) and float(text)

    @property
    def charge_per_day(self) -> float | None:
        """How much may be charged in one day."""
        text = self._values["charge_per_day"].lower()
        return None if text in (*FLAGS, "") else float(text)

    def grant(self, token: Token) -> Grant:
        """Give what questions may take: what the token may, and no more than the session allows itself."""
        most = None if isinstance(self.charge, bool) else self.charge
        return grant_of(token, most, self.charge_per_day)


def _known(name: str) -> str:
    plain = name.strip().strip('"').lower().removeprefix("errorfloor.")
    if plain not in BY_NAME:
        raise DoorError(422, "setting", f"there is no setting {plain[:60]!r}{near(plain, list(OWN))}")
    return BY_NAME[plain]


def _flag(name: str, text: str) -> bool:
    if text.lower() not in FLAGS:
        raise InputError(f"{name} is on or off, got {text[:40]!r}")
    return FLAGS[text.lower()]


def _share(name: str, text: str) -> None:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise InputError(f"{name} is on, off, or a share of every allowance above 0 and at most 1, got {text[:40]!r}")
