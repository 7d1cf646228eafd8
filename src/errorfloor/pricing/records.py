"""Bounds of questions about a table that protects records: from the catalogue, and joined public tables, alone.

A sum of g over rows, with −c₁ ≤ g ≤ c₂ on every row that can be stored. At most r rows of an owner count, so that any
two contents of one owner, absence being one, differ by at most r(c₁ + c₂) in one group, and by at most r·max(c₁, c₂) in
each of two groups, if there are two. So an owner moves all groups together by at most r·√m,
m = max{(c₁ + c₂)², 2·max(c₁, c₂)²}, or (c₁ + c₂)² where there is one group; ``records.proof.md``.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from errorfloor.arithmetic.double_words import ROUNDING, UNDERFLOW
from errorfloor.catalogue.model import Catalogue, Table
from errorfloor.engines import Engine
from errorfloor.errors import RefusedError
from errorfloor.pricing.bounding import Bounds, OutputBounds, RowCurve
from errorfloor.pricing.facts import FactsCache, fetch
from errorfloor.pricing.interval import Enclosure, quiet, up
from errorfloor.pricing.owners import OwnerCounts
from errorfloor.sql.plan import Call, Formula, Sum
from errorfloor.sql.question import Question, walk
from errorfloor.sql.record_ranges import Domains, called, limits_of, row_range
from errorfloor.sql.records import columns_grouped, columns_joined, combinations, domain_of, shown_where
from errorfloor.sql.sums import Layout, Stored, largest, scaled, stored_layout
from errorfloor.vault import Snapshot

MOST_COMBINATIONS = 2_000_000
APART = math.nextafter(math.sqrt(2), 2)  # errors of two groups, beside those of one


def possible(formula: Formula, domains: Domains) -> tuple[float, float]:
    """Give what a sum can be, whoever is there, rounded outwards."""
    found, most = row_range(formula, domains), domains.table.most_rows
    ends = Enclosure.around([-found.below * most, found.above * most])
    return float(ends.low[0]), float(ends.high[1])


def signs(formula: Formula, domains: Domains) -> tuple[float, float]:
    """Give where a released sum is cut off: at what is possible if it is whole, and else at 0 if rows stop there."""
    found, most = row_range(formula, domains), domains.table.most_rows
    if found.whole:
        ends = -found.below * most, found.above * most
        return float(math.ceil(ends[0])), float(math.floor(ends[1]))
    return (-math.inf if found.below else 0.0), (math.inf if found.above else 0.0)


def record_bounds(
    question: Question,
    catalogue: Catalogue,
    snapshots: Sequence[Snapshot],
    engine: Engine,
    cache: FactsCache | None = None,
) -> Bounds:
    """Bound a question about a table that protects records.

    *Guarantee*: everything here follows from the question, the declaration and the public tables that are joined; no
    row of the table is read.

    Raises ``RefusedError`` (``cells``) where groups come from more combinations of values than can be gone through.
    """
    table = catalogue.tables[question.table]
    domains = Domains.of(table, snapshots)
    assert table.owner is not None
    _check_combinations(question, table)
    stored = _with_calls(stored_layout(question, snapshots), question, domains)
    domain = domain_of(question, snapshots[0], engine.dialect)
    listed = replace(question, where=shown_where(question))
    groups = fetch(listed, [], (), [domain, *snapshots[1:]], engine, stored, cache).groups
    each, one = np.arange(len(groups)), np.zeros(1, dtype=np.int64)
    rows = np.full(len(groups), table.owner.most_rows)
    return Bounds(
        table=question.table,
        groups=groups,
        cells=[()],
        group=one,
        cell=one,
        kind=np.zeros(len(groups), dtype=np.int64),
        rows=one + 1,
        layout=stored,
        outputs=tuple(
            replace(_output(one.formula, domains, stored, len(groups)), curve=curve)
            for one, curve in zip(question.outputs, row_curves(question, domains, len(groups)), strict=True)
        ),
        owners=OwnerCounts(each, each, rows),
        owners_of=table.owner.accounts_of(question.table),
    )


def _check_combinations(question: Question, table: Table) -> None:
    if (many := combinations(question, table)) > MOST_COMBINATIONS:
        named = " and ".join(columns_grouped(question))
        raise RefusedError(
            f"{named} can have {many:,} combinations of values, and groups come from at most "
            f"{MOST_COMBINATIONS:,}: group by fewer columns, or put conditions into count(*) FILTER (WHERE …)",
            reason="cells",
        )
    for name in columns_joined(question):
        if (many := table.columns[name].size) > MOST_COMBINATIONS:
            raise RefusedError(
                f"{name} can have {many:,} values, and tables are joined by at most {MOST_COMBINATIONS:,}: join by a "
                f"coarser column",
                reason="cells",
            )


def row_curves(question: Question, domains: Domains, groups: int) -> list[RowCurve | None]:
    """Say of sums whose conditions limit one column where in its range a row adds to them, and how much.

    It is the column that most of them limit. The last piece is a row that is not there, or has no value. None of it
    where (ε, δ) is stated: there what is cut off each output is measured by what that output alone is charged.
    """
    if domains.table.owner is not None and domains.table.owner.stated is not None:
        return [None] * len(question.outputs)
    limits = [limits_of(one.formula) for one in question.outputs]
    named = [column for each in limits for column in each]
    if not named:
        return [None] * len(limits)
    column = max(dict.fromkeys(named), key=named.count)
    least, most = domains.steps(column)
    ends = [(max(each[column][0], least), min(each[column][1], most)) for each in limits if column in each]
    starts = sorted({least, *(low for low, _ in ends if low <= most), *(high + 1 for _, high in ends if high < most)})
    curves: list[RowCurve | None] = []
    for one, each in zip(question.outputs, limits, strict=True):
        if column not in each:
            curves.append(None)
            continue
        found, (first, last) = row_range(one.formula, domains), each[column]
        inside = np.array([first <= start <= last for start in starts] + [False])
        low, high = -Enclosure.exact(found.below).high * inside, Enclosure.exact(found.above).high * inside
        curves.append(RowCurve(column.name, low, high, np.ones(len(inside)), np.ones(1), move=groups > 1))
    return curves


def _with_calls(stored: Layout, question: Question, domains: Domains) -> Layout:
    """Add functions of a row to a layout: their bits and sizes follow from the domains that are declared."""
    found = {node: called(node, domains) for node in walk(question) if isinstance(node, Call)}
    sizes: dict[Stored, int] = {
        call: math.ceil(max(map(abs, one.ends)) * Fraction(2) ** one.bits) + 1 for call, one in found.items()
    }
    return Layout({**stored.largest, **sizes}, {call: one.bits for call, one in found.items()}, stored.rows)


def _off(formula: Sum, domains: Domains, layout: Layout) -> Fraction:
    """Bound how far functions of a row put a sum off, over all rows that there can be."""
    total = Fraction(0)
    for monomial, factor in scaled(formula.of, layout):
        part = abs(factor) * largest(monomial, layout) * layout.rows
        for atom, power in monomial:
            if isinstance(atom, Call):
                one = called(atom, domains)
                total += part * power * one.error * Fraction(2) ** one.bits / layout.largest[atom]
    return total


@quiet
def _output(formula: Formula, domains: Domains, layout: Layout, groups: int) -> OutputBounds:
    assert isinstance(formula, Sum)
    found = row_range(formula, domains)
    low, high = possible(formula, domains)
    terms = scaled(formula.of, layout)
    off = Enclosure.exact(_off(formula, domains, layout)).high
    reach = sum((abs(factor) * largest(monomial, layout) for monomial, factor in terms), Fraction(0)) * layout.rows
    error = up(up(Enclosure.exact(reach).high * ((len(terms) + 4) * ROUNDING)) + UNDERFLOW)
    return OutputBounds(
        slopes={},
        owner=np.array([found.moved(groups=groups)]),
        error=np.array([float(up(up(error + off) * APART))]),
        low=np.array([low]),
        high=np.array([high]),
        defined=np.array([groups > 0]),
    )
