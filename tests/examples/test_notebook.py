"""The notebook runs from its first cell to its last, and shows what it says that it shows."""

import importlib.util
import json
from pathlib import Path

import pytest

import errorfloor as ef
from errorfloor import plots
from errorfloor.errors import InputError
from running_pages import same_shape
from town import open_town, write_town

ROOT = Path(__file__).parents[2]


def writer():
    spec = importlib.util.spec_from_file_location("write_notebook", ROOT / "scripts" / "write_notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_notebook_runs_and_shows_what_it_shows(tmp_path):
    module = writer()
    kept = json.loads(module.TARGET.read_text())
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5) and len({one["id"] for one in kept["cells"]}) > 10
    done = module.run(kept, tmp_path)
    for before, now in zip(kept["cells"], done["cells"], strict=True):
        assert [kinds(one) for one in before.get("outputs", [])] == [kinds(one) for one in now.get("outputs", [])]
        for one, other in zip(before.get("outputs", []), now.get("outputs", []), strict=True):
            texts = [each.get("data", {}).get("text/plain", "") for each in (one, other)]
            assert same_shape(*texts), f"run scripts/write_notebook.py: this was shown\n{texts[1]}"
    pictures = [one for cell in done["cells"] for one in cell.get("outputs", []) if "image/png" in kinds(one)]
    assert len(pictures) == 2


def kinds(output):
    return sorted(output.get("data", {"stream": ""}))


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook") / "town"
    write_town(folder)
    with open_town(folder) as database:
        yield database


@pytest.mark.parametrize(
    ("keys", "panels", "lines"),
    [("tariff", 1, 0), ("day", 1, 1), ("day, tariff", 2, 1), ("tariff, h.class", 2, 0), ("rooms", 1, 1)],
)
def test_a_picture_is_chosen_by_the_keys(town, keys, panels, lines):
    text = f"SELECT {keys}, avg(kwh) AS mean, count(*) AS n FROM meters JOIN homes h USING (household) GROUP BY {keys}"
    answer = town.ask(text, max_error=30.0)
    figure = answer.plot()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == panels
    for axes in shown:
        assert bool(axes.patches) == (not lines)
    drawn = sum(len(axes.lines[0].get_xdata()) for axes in shown)
    assert drawn == answer.to_arrow().num_rows
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_intervals_are_drawn_where_they_are_even_beside_the_number():
    outputs = [{"name": "a", "unit": "", "exact": False}]
    figure = plots.released([{"a": -0.3, "a_low": 0.0, "a_high": 0.2}], outputs)
    (segment,) = figure.axes[0].collections[0].get_segments()
    assert segment[:, 0].tolist() == [0.0, 0.2]


def test_what_cannot_be_drawn_is_refused_with_advice(town):
    answer = town.ask("SELECT household, day, avg(kwh) AS mean FROM meters GROUP BY household, day", max_error=900.0)
    with pytest.raises(InputError, match="there is no output 'other' to draw; there are mean"):
        answer.plot("other")
    many = [{"a": f"{i}", "b": f"{j}", "x": 1.0, "x_low": 0.0, "x_high": 2.0} for i in range(50) for j in range(50)]
    with pytest.raises(InputError, match="do not fit in a picture of at most 40 panels with 40 bars: ask for fewer"):
        plots.released(many, [{"name": "x", "unit": "", "exact": False}])
    assert len(answer.plot().axes) == 24


def test_databases_prices_and_what_is_left_show_themselves(town):
    assert repr(town).startswith("Database with 2 tables\n")
    assert "meters, version 1: private kwh (0 … 50 kWh), peak (0.5 … 10 kW)" in repr(town)
    assert "<td>720</td>" in town._repr_html_() and "kwh (0 … 50 kWh)" in town._repr_html_()
    town.ask("SELECT avg(kwh) AS mean FROM meters", max_error=9.0)
    left = town.left()
    assert isinstance(left, list) and repr(left).startswith("account")
    assert "meters.kwh" in repr(left) and "<td>meters.kwh</td>" in left._repr_html_()
    assert repr(left[0]) == left[0].explain()
    price = town.price("SELECT avg(kwh) AS mean FROM meters", max_error=9.0)
    assert repr(price) == price.summary() and "<details>" in price._repr_html_()
    assert ef.plots.released is plots.released
