"""One encoding for each plan: what decides whether two questions are the same."""

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from errorfloor.identity import Part, encode


@dataclass(frozen=True, eq=False)
class Node:
    """A part of a plan: frozen, compared by content, with one encoding."""

    idempotent: ClassVar[bool] = False

    @cached_property
    def canonical(self) -> Part:
        """The node's kind and fields as parts of a label; different nodes have different ones."""
        return (type(self).__name__, *(_part(getattr(self, field.name)) for field in fields(self)))

    @cached_property
    def encoded(self) -> bytes:
        """The canonical form as bytes."""
        return encode(self.canonical)

    @cached_property
    def _hash(self) -> int:
        return hash(self.encoded)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.encoded == other.encoded


def order_of(node: Node) -> bytes:
    """Give what nodes are sorted by wherever their order has no meaning."""
    return node.encoded


def _part(value: Any) -> Part:
    if isinstance(value, Node):
        return value.canonical
    if isinstance(value, Fraction):
        return ("/", value.numerator, value.denominator)
    if isinstance(value, tuple):
        return tuple(_part(item) for item in value)
    plain: Part = value
    return plain
