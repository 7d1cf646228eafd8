"""What is done between the charge and the answer does not follow private values: not one call, step or byte of it."""

import functools
import gc
import random
import sys

import pytest

from errorfloor.errors import ErrorFloorError
from operations import Operations
from questions import ANSWERED
from repeated import rounds

TWINS = ("low", "high")  # private values at either end of their range; everything public is equal
ROWS = (
    "kwh",
    "kwh * peak",
    "power(kwh - 10, 2)",
    "greatest(kwh, 5)",
    "least(peak, 3.5)",
    "above(kwh, 20, 4)",
    "between(peak, 2, 4, 1)",
    "exp(-kwh / 10)",
    "ln(1 + kwh)",
    "sqrt(1 + kwh)",
    "sin(kwh)",
    "cos(kwh / 3)",
    "tanh(kwh - 10)",
    "1 / peak",
    "kwh / area",
    "power(peak, 1.5)",
    "CASE WHEN rooms >= 4 THEN kwh ELSE 2 * peak END",
)
WHOLES = (
    "sum({})",
    "avg({})",
    "var_pop({})",
    "var_samp({})",
    "covar_pop({}, peak)",
    "sum({} * rooms) / sum(rooms)",
    "regr_slope({}, rooms)",
    "sum({} * peak) / sum(peak)",
)
FORMULAS = (
    "{0}",
    "2.5 * ({0}) - ({1})",
    "({0}) * ({1})",
    "({0}) / (1 + power({1}, 2))",
    "power(1e-3 * ({0}), 3)",
    "ln(1 + power(1e-3 * ({0}), 2))",
    "ln(1 + power(power(1e-30 * 1e-30 * greatest({0} - 15, 0), 12), 2))",
    "exp(-power(({0}) / 1e3, 2))",
    "ln(1 + exp(-8000 - power({0}, 2)) * greatest(({1}) - 15, 0))",
    "tanh(({0} - 10) / 1e3)",
    "tanh(1e-40 * ({0}))",
    "sqrt(greatest({0}, 1))",
    "least(greatest({0}, 3), 12)",
)
FROM = (
    "FROM meters",
    "FROM meters WHERE household = 'h07' AND day = '2013-02-01'",
    "FROM meters WHERE rooms < 4 GROUP BY tariff",
    "FROM meters GROUP BY tariff, rooms",
)


def caches():
    """The caches of our own functions that live as long as the process."""
    kept = [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]
    return [one for one in kept if one.__module__.startswith("errorfloor")]


CACHES = caches()


def random_question(seed):
    """A question with one or two outputs from the whole language."""
    chance = random.Random(seed)
    outputs = []
    for name in "ab"[: chance.randint(1, 2)]:
        parts = [chance.choice(WHOLES).format(chance.choice(ROWS)) for _ in range(2)]
        outputs.append(f"{chance.choice(FORMULAS).format(*parts)} AS {name}")
    return f"SELECT {', '.join(outputs)} {chance.choice(FROM)}"


def steps(act):
    """How many instructions Python executes in our own code, function by function."""
    counted = {}

    def entered(frame, event, what):
        if "errorfloor" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return stepped

    def stepped(frame, event, what):
        if event == "opcode":
            counted[frame.f_code.co_qualname] = counted.get(frame.f_code.co_qualname, 0) + 1
        return stepped

    before = sys.gettrace()
    gc.disable()
    sys.settrace(entered)
    try:
        act()
    finally:
        sys.settrace(before)
        gc.enable()
    return counted


def counted(database, question, count):
    """Ask twice, so that what is prepared once and kept is there, and count the third time; None if it is refused.

    What is kept for all databases of a process is forgotten before: else the second twin finds what the first left.
    """
    ask = lambda: database.ask(question, spend=1e-5)  # noqa: E731
    for cache in CACHES:
        cache.cache_clear()
    try:
        ask(), ask()
    except ErrorFloorError:
        return None
    return count(ask)


@pytest.fixture
def twins(towns):
    return [towns(kind) for kind in TWINS]


def test_calls_and_sizes_of_random_questions_are_the_same_for_all_private_values(twins):
    answered = 0
    for seed in range(rounds(20)):
        question = random_question(seed)
        low, high = (counted(database, question, Operations.of) for database in twins)
        if low is None or high is None:
            assert low is high, question
            continue
        assert low.difference(high) == {}, question
        answered += 1
    assert answered >= rounds(10)


@pytest.mark.parametrize("part", range(3))
def test_every_step_of_our_own_code_is_the_same_for_all_private_values(twins, part):
    for question in [*ANSWERED[part::9], *map(random_question, range(100 + part, 112, 3))]:
        low, high = (counted(database, question, steps) for database in twins)
        assert low == high, question


def test_the_counts_show_a_branch_that_follows_a_value(towns):
    """The comparisons above can fail: a town with owners takes other steps."""
    databases = [towns("plain", owner=owner) for owner in (False, True)]
    assert len({counted(database, ANSWERED[0], Operations.of).total for database in databases}) == 2
    assert counted(databases[0], ANSWERED[0], steps) != counted(databases[1], ANSWERED[0], steps)
