"""Idempotency keys: one key, one question.

Answers need not be stored for them: the same question has the same answer and is charged once, with or without a key.
What a key adds is that a mistake of the client's shows itself: the same key with another question is refused.
"""

import hashlib
import re
import threading
from collections import OrderedDict

from errorfloor.access.failures import DoorError
from errorfloor.errors import InputError

MOST = 100_000  # keys that are remembered, newest last; a restarted server remembers none
TEXT = re.compile(r"[\x21-\x7e]{1,200}")


class Keys:
    """Remembers which question each key was used for, by token.

    >>> keys = Keys()
    >>> keys.check("token", "k1", b"question"), keys.check("token", "k1", b"question"), keys.check("other", "k1", b"x")
    (None, None, None)
    >>> keys.check("token", "k1", b"another")
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: this Idempotency-Key was used for another question: use a new one
    """

    def __init__(self) -> None:
        self._used: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, token: str, key: str, content: bytes) -> None:
        """Refuse a key that was used with another content."""
        if not TEXT.fullmatch(key):
            raise InputError("an Idempotency-Key is made of 1 to 200 printable ASCII characters without spaces")
        name = hashlib.sha256(f"{token} {key}".encode()).digest()
        digest = hashlib.sha256(content).digest()
        with self._lock:
            known = self._used.setdefault(name, digest)
            self._used.move_to_end(name)
            if len(self._used) > MOST:
                self._used.popitem(last=False)
        if known != digest:
            raise DoorError(409, "idempotency", "this Idempotency-Key was used for another question: use a new one")
