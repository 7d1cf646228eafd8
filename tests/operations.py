"""A clock without noise: how many calls Python makes, and how large the values are that they give back."""

import gc
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import CodeType, FrameType
from typing import Any, final

import numpy as np

COMPARING = ("__eq__", "__hash__")


@final
@dataclass(frozen=True)
class Operations:
    """What was called, how often, and how many bytes the numbers take that came back from each.

    It sees Python and the calls that Python makes into C, in the thread that counts; not what an engine does, nor how
    often dictionaries compare equal keys, which follows from which of them they met first.

    >>> few, many = (Operations.of(lambda: [abs(k) for k in range(count)]) for count in (2, 9))
    >>> many.total - few.total
    7
    >>> Operations.of(lambda: 7**100).size > Operations.of(lambda: 7).size
    True
    """

    calls: Counter[str]
    sizes: Counter[str]

    @classmethod
    def of(cls, act: Callable[[], Any]) -> "Operations":
        """Do something and count; whatever it raises is raised when the counting is over."""
        calls: Counter[str] = Counter()
        sizes: Counter[str] = Counter()

        def seen(frame: FrameType, event: str, what: Any) -> None:
            if frame.f_code.co_name in COMPARING:
                return
            if event == "call":
                calls[_name(frame.f_code)] += 1
            elif event == "return":
                sizes[_name(frame.f_code)] += _size(what)
            elif event == "c_call":
                calls[str(getattr(what, "__qualname__", what.__class__.__qualname__))] += 1

        collecting = gc.isenabled()
        gc.disable()  # what is collected meanwhile is not the work of the act
        before = sys.getprofile()
        sys.setprofile(seen)
        try:
            act()
        finally:
            sys.setprofile(before)
            if collecting:
                gc.enable()
        calls["setprofile"] = 0
        return cls(+calls, +sizes)

    @property
    def total(self) -> int:
        """How many calls there were."""
        return self.calls.total()

    @property
    def size(self) -> int:
        """How many bytes the numbers take that came back."""
        return self.sizes.total()

    def difference(self, other: "Operations") -> dict[str, tuple[int, int]]:
        """Give the names whose counts or sizes are not the same, with both; none where the two did the same."""
        found = {}
        for kind, mine, theirs in (("calls", self.calls, other.calls), ("bytes", self.sizes, other.sizes)):
            for name in sorted(mine.keys() | theirs.keys()):
                if mine[name] != theirs[name]:
                    found[f"{kind} of {name}"] = mine[name], theirs[name]
        return found


def _name(code: CodeType) -> str:
    return f"{code.co_filename.rpartition('/')[2]}:{code.co_qualname}"


def _size(value: Any) -> int:
    match value:
        case bool() | float():
            return 8
        case int():
            return sys.getsizeof(value)
        case Fraction():
            return sys.getsizeof(value.numerator) + sys.getsizeof(value.denominator)
        case Decimal():
            return len(value.as_tuple().digits)
        case np.ndarray():
            return value.nbytes + (sum(map(_size, value.flat)) if value.dtype == object else 0)
        case list() | tuple():
            return sum(map(_size, value))
        case _:
            return 0
