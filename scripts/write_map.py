"""Write docs/pictures/map.svg: the rooms of the package, who imports from whom, and the path of a question.

The rooms and the lines between them come from the import graph; a line that follows from others is left out. The
stops of a question are listed here, and a test follows a real question through them.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "pictures" / "map.svg"
PACKAGE = "errorfloor"
Graph = dict[str, set[str]]


@dataclass(frozen=True)
class Stop:
    """Where a question is, the function that is called there, and what it does."""

    room: str
    function: str
    purpose: str


PATH = (
    Stop("service", "ask", "takes a question and how exact it must be"),
    Stop("sql", "parse", "reads the question into a typed plan"),
    Stop("vault", "snapshot", "finds the registered snapshot"),
    Stop("engines", "query", "reads public facts: keys and counts"),
    Stop("pricing", "bounds_from_facts", "bounds what each private value can move"),
    Stop("noise", "information", "states what the noise gives away: the price"),
    Stop("ledger", "settling", "charges it durably, or refuses"),
    Stop("identity", "derive", "gives the draw its key: same label, same draw"),
    Stop("noise", "sample", "draws the noise"),
    Stop("engines", "query", "sums the private columns"),
    Stop("preparing", "in_grains", "adds the two and rounds"),
    Stop("answering", "laid_out", "lays out the answer"),
)

WIDTH, HEIGHT, ACROSS, DOWN, THIN = 104, 34, 22, 70, 16
MARGIN, HEADING, PANEL = 28, 64, 372


def imports() -> Graph:
    """Give the rooms, each with the rooms that it imports from; rooms are folders, the files beside them the ground."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    ignored = {one for contract in settings["contracts"] for one in contract.get("ignore_imports", ())}
    source = ROOT / "src" / PACKAGE
    rooms: Graph = {path.parent.name: set() for path in sorted(source.glob("*/__init__.py"))}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            here, there = (name.split(".")[1:2] for name in (importer, imported))
            if here != there and f"{importer} -> {imported}" not in ignored and {*here, *there} <= rooms.keys():
                for room in here:
                    rooms[room].update(there)
    return rooms


def below(graph: Mapping[str, set[str]], room: str) -> set[str]:
    """Give every room that one rests on, whether it imports from it or not."""
    return graph[room].union(*(below(graph, other) for other in graph[room]))


def reduced(graph: Graph) -> Graph:
    """Leave out each import that follows from others."""
    return {room: there - set().union(*(below(graph, other) for other in there)) for room, there in graph.items()}


def storeys(graph: Graph) -> dict[str, int]:
    """Give each room its height: one more than the highest that it imports from, or right below those that import it.

    The higher place is taken by a room that more rooms import from than it imports from, so that lines are short.
    """
    found: dict[str, int] = {}

    def height(room: str) -> int:
        if room not in found:
            found[room] = 1 + max((height(other) for other in graph[room]), default=-1)
        return found[room]

    for room in sorted(graph, key=height, reverse=True):
        above = [other for other in graph if room in graph[other]]
        if len(above) > len(graph[room]):
            found[room] = min(found[other] for other in above) - 1
    return found


@dataclass(frozen=True)
class Plan:
    """Where everything is drawn: the middles of rooms, and lines as points from an upper room to a lower one."""

    rooms: dict[str, tuple[int, int]]
    lines: list[list[tuple[int, int]]]


def layout(graph: Graph) -> Plan:
    """Lay rooms out by storey, lines straight where they can be: places follow the mean of their neighbours."""
    height = storeys(graph)
    chains = [  # a line passes every storey between its ends
        [upper, *(f"{upper} {lower} {level}" for level in range(height[upper] - 1, height[lower], -1)), lower]
        for upper in sorted(graph)
        for lower in sorted(graph[upper])
    ]
    top = max(height.values())
    rows: list[list[str]] = [sorted(room for room in graph if height[room] == level) for level in range(top + 1)]
    neighbours: dict[str, list[str]] = {room: [] for room in graph}
    for chain in chains:
        for place, node in enumerate(chain):
            if " " in node:
                rows[height[chain[0]] - place].append(node)
            neighbours.setdefault(node, []).extend(chain[max(place - 1, 0) : place] + chain[place + 1 : place + 2])
    x = {node: float(place) * (WIDTH + ACROSS) for row in rows for place, node in enumerate(row)}
    for _ in range(60):
        for row in (*rows, *reversed(rows)):
            wanted = {node: mean(x, node, neighbours[node]) for node in row if neighbours[node]}
            row.sort(key=lambda node: (round(wanted.get(node, x[node]), 6), node))
            x.update(spread(row, {**x, **wanted}))
    left = min(x[room] for room in graph) - WIDTH / 2 - MARGIN

    def place(node: str, level: int) -> tuple[int, int]:
        return round(x[node] - left), HEADING + HEIGHT // 2 + (top - level) * DOWN

    return Plan(
        {room: place(room, height[room]) for room in graph},
        [[place(node, height[chain[0]] - step) for step, node in enumerate(chain)] for chain in chains],
    )


def mean(x: Mapping[str, float], node: str, neighbours: list[str]) -> float:
    """Give the mean place of neighbours; along a line it counts more, so that lines are straight."""
    weights = [1 + 7 * (" " in node) * (" " in other) for other in neighbours]
    return sum(x[other] * weight for other, weight in zip(neighbours, weights, strict=True)) / sum(weights)


def spread(row: list[str], wanted: Mapping[str, float]) -> dict[str, float]:
    """Give the places nearest to the wanted ones, in squares, that keep the order of a row and its distances."""
    offset, blocks = 0.0, []  # a block is a run of nodes that touch: the sum of its places, its number
    offsets = []
    for place, node in enumerate(row):
        if place:
            offset += ACROSS + sum((THIN if " " in one else WIDTH) / 2 for one in (row[place - 1], node))
        offsets.append(offset)
        blocks.append((wanted[node] - offset, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = (blocks[-1][0] + last[0], blocks[-1][1] + last[1])
    means = [total / number for total, number in blocks for _ in range(number)]
    return {node: mean + far for node, mean, far in zip(row, means, offsets, strict=True)}


def drawing(graph: Graph) -> str:
    """Draw the map."""
    plan = layout(reduced(graph))
    right = max(x for points in (plan.rooms.values(), *plan.lines) for x, _ in points) + WIDTH // 2 + MARGIN
    bottom = max(y for _, y in plan.rooms.values()) + HEIGHT // 2
    wide, high = right + PANEL, max(bottom + MARGIN + 40, HEADING + 40 + 46 * len(PATH))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        'font-family="DejaVu Sans, Verdana, sans-serif" role="img" aria-labelledby="title">',
        '<title id="title">The rooms of errorfloor and the path of a question</title>',
        f'<rect width="{wide}" height="{high}" rx="8" fill="#ffffff"/>',
        *text(MARGIN, 34, "A room imports only from the rooms below it", 15, weight="bold"),
        *text(right, 34, "The path of a question", 15, weight="bold"),
        *(line(points) for points in plan.lines),
        *(part for room, middle in plan.rooms.items() for part in box(room, middle)),
        *(part for number, stop in enumerate(PATH, 1) for part in step(number, stop, right)),
        *text(MARGIN, bottom + 40, ground(), 11, colour="#5b6472"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def ground() -> str:
    """Say which files lie under all rooms."""
    files = sorted(path.stem for path in (ROOT / "src" / PACKAGE).glob("*.py") if not path.stem.startswith("_"))
    return f"Under all of them: {', '.join(files)}. A line that follows from others is not drawn."


def line(points: list[tuple[int, int]]) -> str:
    """Draw an import: from the floor of one room to the roof of another, upright past the rooms between."""
    x, y = points[0]
    path = f"M{x},{y + HEIGHT // 2}"
    y += HEIGHT // 2
    for number, (next_x, next_y) in enumerate(points[1:], 2):
        roof = next_y - HEIGHT // 2
        path += f" C{x},{(y + roof) // 2} {next_x},{(y + roof) // 2} {next_x},{roof}"
        if number < len(points):
            path += f" V{next_y + HEIGHT // 2}"
        x, y = next_x, next_y + HEIGHT // 2
    return f'<path d="{path}" fill="none" stroke="#9aa5b5" stroke-width="1.4"/>'


def box(room: str, middle: tuple[int, int]) -> Iterable[str]:
    """Draw a room, with the numbers of a question's stops in it."""
    x, y = middle
    stops = [number for number, stop in enumerate(PATH, 1) if stop.room == room]
    fill, edge = ("#e8edff", "#3949ab") if stops else ("#f6f7f9", "#9aa5b5")
    yield (
        f'<rect x="{x - WIDTH // 2}" y="{y - HEIGHT // 2}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
        f'fill="{fill}" stroke="{edge}" stroke-width="1.4"/>'
    )
    yield from text(x, y + 5, room, 14, anchor="middle")
    for place, number in enumerate(stops):
        yield from badge(number, x + WIDTH // 2 - 4 - 22 * (len(stops) - 1 - place), y - HEIGHT // 2)


def badge(number: int, x: int, y: int) -> Iterable[str]:
    """Draw the number of a stop."""
    yield f'<circle cx="{x}" cy="{y}" r="10" fill="#3949ab"/>'
    yield from text(x, y + 4, str(number), 11, anchor="middle", colour="#ffffff", weight="bold")


def step(number: int, stop: Stop, x: int) -> Iterable[str]:
    """Write what happens at a stop."""
    y = HEADING + 16 + 46 * (number - 1)
    yield from badge(number, x + 10, y)
    yield from text(x + 30, y + 1, stop.room, 14, weight="bold")
    yield from text(x + 30, y + 18, stop.purpose, 12, colour="#3c4453")


def text(
    x: int, y: int, said: str, size: int, *, anchor: str = "start", colour: str = "#1b2030", weight: str = "normal"
) -> Iterable[str]:
    """Write a text."""
    yield (
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{colour}">{escape(said)}</text>'
    )


if __name__ == "__main__":
    TARGET.write_text(drawing(imports()))
