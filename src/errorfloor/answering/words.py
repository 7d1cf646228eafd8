"""What a price or an answer says, in sentences: all of it, or in short. Every door and every page takes them from here.

Each sentence about a private column says what it is clamped to, whether or not anything was, and where a threshold is
softened, over what. All of it follows from the question, the declarations and public facts.
"""

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from errorfloor.accounts import explained, used_in_short
from errorfloor.answering.advice import advice, vacuous
from errorfloor.answering.unions import parts_of
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue import PrivateColumn, Table
from errorfloor.floors.words import rounded_down, rounded_up
from errorfloor.preparing.joint_noise import apart_since
from errorfloor.preparing.preparation import Prepared, PreparedOutput
from errorfloor.preparing.quantiles import located_where, tells_nothing
from errorfloor.pricing.words import number, words
from errorfloor.sql.plan import Call, Count, Missing, Quotient, Sum, TableColumn
from errorfloor.sql.question import Bin, Quantile, QuestionOutput, is_made_of_parts, walk

if TYPE_CHECKING:
    from errorfloor.answering.answer import Price

DRY = "dry run: dummy rows made from the catalogue alone; nothing here is about anybody, and nothing is charged."
DIRECT = "released parts that promise the same bound would take no less"
MOST_NAMED = 3  # outputs, columns or thresholds that a short sentence names one by one


def in_full(price: "Price") -> str:
    """Say in sentences what is certain, what nobody can learn, and what it costs."""
    lines = [*_overlooked(price), *_left_out(price), *_certain(price), *_vacuous(price)]
    lines += [*_soft(price), *_clamped(price)]
    if price.dry:
        return "\n".join([DRY, *lines])
    if price.setting is not None:
        lines.append(price.setting.explain())
    if not price.affordable:  # what would be learnt from it is never learnt
        return "\n".join([*lines, _refused(price)])
    return "\n".join([*lines, *explained(price.standings), *explained(price.quotas)])


def in_short(price: "Price") -> str:
    """Say the same in two short sentences, and in a line what was used."""
    lines = [*_overlooked(price), *_left_out(price), _briefly(price), *_follows(price), *_in_few(_vacuous(price))]
    if price.dry:
        return "\n".join([DRY, *lines])
    if not price.affordable:
        return "\n".join([*lines, _refused(price)])
    if price.standings:
        lines.append(max(price.standings, key=lambda one: one.used).headline())
    return "\n".join([*lines, *used_in_short([*price.standings, *price.quotas])])


def _refused(price: "Price") -> str:
    return f"Refused if asked: {advice(price.prepared, price.standings, price.quotas)}."


def remarks(price: "Price") -> list[str]:
    """Say what one may have overlooked: values that no row has, bounds of no output, bounds that promise nothing."""
    return [*_overlooked(price), *_in_few(_vacuous(price))]


def _overlooked(price: "Price") -> list[str]:
    said = [] if price.dry else [one.explain() for one in price.prepared.plan.absent]  # dummy rows have their own
    if not price.unused:
        return said
    named = [*price.unused[:MOST_NAMED], *([f"{more} more"] if (more := len(price.unused) - MOST_NAMED) > 0 else [])]
    which = "is no output" if len(named) == 1 else "are no outputs"
    return [*said, f"max_error names {_joined([one[:40] for one in named])}, which {which} of this question."]


def _vacuous(price: "Price") -> list[str]:
    return list(vacuous(price.prepared, price.shown))


def _in_few(said: list[str]) -> list[str]:
    more = len(said) - MOST_NAMED
    return said if more <= 0 else [*said[:MOST_NAMED], f"So it is with {more} more output{'s' if more > 1 else ''}."]


def _left_out(price: "Price") -> list[str]:
    left, least = price.prepared.bounds.left_out, price.prepared.question.least
    if not left:
        return []
    groups = "group" if left == 1 else "groups"
    return [f"{left:,} {groups} of fewer than {least:,} rows {'is' if left == 1 else 'are'} left out."]


def _certain(price: "Price") -> Iterable[str]:
    """Say of each output how far off it is at most, and what it follows from; shares of one quantile are one."""
    return {_asked(price, one): f"{_of_output(price, one)}{_source(price, one)}" for one in price.shown}.values()


def _source(price: "Price", one: PreparedOutput) -> str:
    """Say which released cells an output follows from; nothing of one with noise of its own."""
    made = parts_of(one)
    if made is None:
        return ""
    times = [one.time[:10] for one in made.seen_by(price.analyst)]
    cells = f"{made.parts} cell{'s' if made.parts != 1 else ''}"
    when = "before"  # of what others asked it is not said when
    if times:
        when = f"on {times[0]}" if times[0] == times[-1] else f"from {times[0]} to {times[-1]}"
    return f" It follows from up to {cells} released {when}, and costs nothing."


def _follows(price: "Price") -> list[str]:
    """Say in short which outputs follow from released cells; nothing if none does."""
    made = list(dict.fromkeys(_asked(price, one) for one in price.shown if parts_of(one) is not None))
    if not made:
        return []
    every = {_asked(price, one) for one in price.shown if one.added is not None}
    names = "It" if every == {*made} else _joined(made) if len(made) <= MOST_NAMED else f"{len(made)} outputs"
    follow = "follow" if len(made) > 1 and names != "It" else "follows"
    costs = "cost" if follow == "follow" else "costs"
    return [f"{names} {follow} from cells that were released before, and {costs} nothing."]


def _briefly(price: "Price") -> str:
    """Say in one sentence how far off all outputs are at most, and what of."""
    bounds = {_asked(price, one): _bound(price, one) for one in price.shown}
    noisy = [one.output for one in price.shown if one.added is not None]
    if not noisy:
        return "Every number is public and exact." if not any(bounds.values()) else " ".join(_certain(price))
    alike: dict[str, list[str]] = {}
    for name, bound in bounds.items():
        alike.setdefault(bound, []).append(name)
    exact = [f"{_named(alike.pop(''))} exact"] if "" in alike else []
    said = [f"{_named(names)} certainly {bound}" for bound, names in alike.items()]
    if len(said) > MOST_NAMED:
        said = [f"Each of {len(bounds) - len(exact)} outputs is certainly within the bound beside it of the truth"]
    return f"{'; '.join([_joined(said) + _meaning(price, noisy), *exact])}."


def _asked(price: "Price", one: PreparedOutput) -> str:
    """Give the name that an output is said under: columns asked for together have one sentence if bounds are alike."""
    return one.output.family if len(_family(price, one)) > 1 else one.output.asked_as


def _family(price: "Price", one: PreparedOutput) -> list[QuestionOutput]:
    """Give one output for each column that was asked for together with this one, if all have the same bound."""
    alike = [each for each in price.shown if each.output.family and each.output.family == one.output.family]
    if len({each.added.law for each in alike if each.added is not None}) > 1:
        return [one.output]
    return list({each.output.asked_as: each.output for each in alike}.values()) or [one.output]


def _meaning(price: "Price", outputs: list[QuestionOutput]) -> str:
    """Say of which truth: values are clamped, thresholds softened."""
    soft = list(dict.fromkeys(_ramp(price, call) for output in outputs for call in _thresholds(output)))
    bins = [output.part_of for output in outputs if isinstance(output.part_of, Bin)]
    soft += dict.fromkeys(f"{number(one.width)}{_unit_of(price, one.column)} each" for one in bins)
    parts = [ranges] if (ranges := _ranges(price, outputs)) else []
    if soft:
        over = _joined(soft) if len(soft) <= MOST_NAMED else "the widths given"
        parts.append(f"thresholds softened over {over}")
    return f", with {_joined(parts)}" if parts else ""


def _bound(price: "Price", one: PreparedOutput) -> str:
    """Say where an output is, seen from the truth; nothing of one that is exact."""
    scale, quantile = price.prepared.scale(one), one.output.part_of
    if quantile is not None and not isinstance(quantile, Bin):
        useless = isinstance(quantile, Quantile) and tells_nothing(one)
        return f"between {quantile.name}_low and {quantile.name}_high{', which tells nothing' if useless else ''}"
    unit = f" {one.output.unit}" if one.output.unit else ""
    if one.added is None:
        return f"within ±{rounded_up(one.constant.error * scale, 6)}{unit} of the truth" if one.constant else ""
    widest = one.added.widest
    if math.isinf(widest.high):
        return "not below the truth"
    if widest.low != -widest.high:
        return f"{_signed(rounded_down(widest.low, 6))} … {_signed(rounded_up(widest.high, 6))}{unit} off the truth"
    least = f"±{rounded_up(one.added.narrowest.high * scale, 6)} to " if one.added.varies else ""
    return f"within {least}±{rounded_up(widest.high * scale, 6)}{unit} of the truth"


def _of_output(price: "Price", one: PreparedOutput) -> str:
    family, unit = _family(price, one), f" {one.output.unit}" if one.output.unit else ""
    name = f"Each of {family[0].name} … {family[-1].name}" if len(family) > 1 else one.output.name
    if one.output.part_of is not None:
        return located_where([each.part_of for each in family if each.part_of], one, price.prepared)
    if one.constant is not None:
        if one.constant.is_empty:
            return f"{name} has no value: there are no rows, or too few, to compute it from."
        error = one.constant.error * price.prepared.scale(one)  # a total of several is off by all of them
        off = f", and it is within ±{rounded_up(error, 6)}{unit} of the truth" if error else ""
        return f"{name} follows from public facts: no private value moves it{off}."
    if one.added is None:
        return f"{name} is public and exact."
    parts, added, least = price.prepared.scale(one), one.added.widest, one.added.narrowest
    ranges = _ranges(price, [one.output])
    truth = f"the truth with {ranges}" if ranges else "the truth"
    if parts != 1:
        return (
            f"{name} is certainly within ±{rounded_up(added.high * parts, 6)}{unit} of {truth}: within "
            f"±{rounded_up(added.high, 6)}{unit} for each of the finest groups (standard error "
            f"{added.standard_error:.3g}{unit}), of which a total has up to {parts:g}.{_apart(price, one)}"
        )
    if one.added.varies:
        return (
            f"{name} is certainly within ±{rounded_up(least.high, 6)} to ±{rounded_up(added.high, 6)}{unit} "
            f"of {truth}, by group (standard error {least.standard_error:.3g} to {added.standard_error:.3g}{unit})."
        )
    if added.low == -added.high:
        where = f"certainly within ±{rounded_up(added.high, 6)}{unit} of {truth}"
    elif math.isinf(added.high):
        where = f"certainly not below {truth}, and above it by {added.bias:.3g}{unit} on average"
    else:
        where = (
            f"certainly between {_signed(rounded_down(added.low, 6))} and {_signed(rounded_up(added.high, 6))}{unit} "
            f"off {truth}, {added.bias:+.3g}{unit} on average"
        )
    said = f"{name} is {where} (standard error {added.standard_error:.3g}{unit})."
    if is_direct(one, price.prepared):
        said = f"{said} It has noise of its own: {DIRECT}."
    return said


def _apart(price: "Price", one: PreparedOutput) -> str:
    why = apart_since(one, price.prepared)
    return f" {why[0].upper()}{why[1:]}." if why else ""


def is_direct(one: PreparedOutput, prepared: Prepared) -> bool:
    """Tell whether it has noise of its own, but could have been computed from parts: those never take less for it."""
    if one.added is None or one.output.part_of is not None or prepared.table.hides_records or parts_of(one) is not None:
        return False
    return is_made_of_parts(one.output.formula)


def _read(outputs: Iterable[QuestionOutput], table: Table) -> dict[str, PrivateColumn]:
    """Give the private columns whose values are read, in order of name."""
    found = {
        node.name
        for output in outputs
        for node in walk(output.formula, stop=Missing)
        if isinstance(node, TableColumn) and node.private
    }
    return {name: table.private[name] for name in sorted(found) if name in table.private}


def _ranges(price: "Price", outputs: Iterable[QuestionOutput]) -> str:
    owner = price.prepared.table.owner
    if owner is not None and owner.is_hidden:
        rows = f"{owner.rows} row{'s' if owner.rows != 1 else ''}"
        capped = f"at most {rows} of each {owner.column} and " if owner.column else ""
        return f"{capped}values in their declared domains"
    columns = _read(outputs, price.prepared.table)
    if len(columns) > MOST_NAMED:
        return "private columns clamped to their declared ranges"
    return _joined([f"{name} clamped to {_range(one)}" for name, one in columns.items()])


def _clamped(price: "Price") -> Iterator[str]:
    """Say what clamping means for each private column that is read."""
    noisy = [one.output for one in price.shown if one.constant is None]
    for name, one in _read(noisy, price.prepared.table).items():
        unit = f" {one.unit}" if one.unit else ""
        missing = "" if one.impute is None else f", a missing one as {number(one.impute)}{unit}"
        yield (
            f"Clamped means: a value of {name} below {number(one.low)}{unit} counts as {number(one.low)}{unit}, one "
            f"above {number(one.high)}{unit} as {number(one.high)}{unit}{missing}. Whether there are any is not said."
        )


def _soft(price: "Price") -> Iterator[str]:
    """Say of each output with a softened threshold what is counted in part."""
    for one in price.shown:
        if one.output.part_of is None and one.added is not None and (calls := _thresholds(one.output)):
            yield f"{one.output.name} {_share(price, one.output, calls)}: values in there count in part."


def _share(price: "Price", output: QuestionOutput, calls: list[Call]) -> str:
    ramps = _joined([_ramp(price, call) for call in calls[:MOST_NAMED]])
    argument = words(calls[0].argument)
    match output.formula:
        case Quotient(Sum(of=shares), Count()) if shares == Polynomial.atom(calls[0]):
            at = _at(price, calls[0])
            return f"is the share of rows with {argument} above {at}, softened over {ramps}"
        case Quotient(Sum(of=shares), Count()) if len(calls) == 2 and _is_between(shares, calls):
            low, high = sorted(calls, key=lambda call: call.parameters[0])
            ends = f"{number(low.parameters[0])} and {_at(price, high)}"
            return f"is the share of rows with {argument} between {ends}, softened over {ramps}"
    return f"has thresholds softened over {ramps}"


def _is_between(shares: Polynomial, calls: list[Call]) -> bool:
    low, high = sorted(calls, key=lambda call: call.parameters[0])
    same = words(low.argument) == words(high.argument)
    return same and shares == Polynomial.atom(low) + Polynomial.atom(high) * -1


def _thresholds(output: QuestionOutput) -> list[Call]:
    if output.part_of is not None:
        return []
    found = {node.encoded: node for node in walk(output.formula) if isinstance(node, Call)}
    calls = [call for call in found.values() if call.function == "above"]
    return sorted(calls, key=lambda call: call.parameters[0])


def _ramp(price: "Price", call: Call) -> str:
    threshold, width = call.parameters
    return f"{number(threshold - width / 2)} … {number(threshold + width / 2)}{_unit(price, call)}"


def _at(price: "Price", call: Call) -> str:
    return f"{number(call.parameters[0])}{_unit(price, call)}"


def _unit(price: "Price", call: Call) -> str:
    atoms = [atom for atom in call.argument.atoms if isinstance(atom, TableColumn)]
    if len(atoms) == 1 and call.argument == Polynomial.atom(atoms[0]) and atoms[0].private:
        return _unit_of(price, atoms[0].name)
    return ""


def _unit_of(price: "Price", column: str) -> str:
    unit = price.prepared.table.private[column].unit
    return f" {unit}" if unit else ""


def _range(one: PrivateColumn) -> str:
    return f"{number(one.low)} … {number(one.high)}{f' {one.unit}' if one.unit else ''}"


def _signed(written: str) -> str:
    return written if written.startswith("-") else f"+{written}"


def _named(names: list[str]) -> str:
    return f"{_joined(names)} {'is' if len(names) == 1 else 'are'}"


def _joined(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
