"""Asked again in another process, no kind of question has an engine look at a row: what is kept is looked for first."""

import pytest

import errorfloor as ef
import followed_house
from errorfloor.catalogue import load
from houses import register_house
from monthly import grow, write_catalogue, write_months
from patients import visits, write_patients
from town import write_town

WISH = {"max_error": 2000.0}
SPEND = {"spend": 0.001}
OF_TOWN = {
    "one number": ("SELECT sum(kwh) AS a FROM meters", WISH),
    "groups": ("SELECT tariff, avg(kwh) AS a, count(*) AS n FROM meters GROUP BY tariff", WISH),
    "a condition": ("SELECT avg(kwh) AS a FROM meters WHERE day >= '2013-02-01' AND tariff <> 'Std'", WISH),
    "groups of a size": ("SELECT household, sum(kwh) AS a FROM meters GROUP BY 1 HAVING count(*) >= 7", WISH),
    "a variance": ("SELECT tariff, var_samp(kwh) AS a, var_pop(peak) AS b FROM meters GROUP BY tariff", WISH),
    "a standard deviation": ("SELECT tariff, stddev_pop(kwh) AS a FROM meters GROUP BY tariff", WISH),
    "made of parts and not": (
        "SELECT stddev(kwh) AS a, avg(peak) / avg(kwh + 1) AS b, avg(kwh) AS c FROM meters",
        WISH,
    ),
    "a bound for each": ("SELECT stddev(kwh) AS a, corr(kwh, peak) AS b FROM meters", {"max_error": {"a": 9, "b": 2}}),
    "a root of what is above 0": ("SELECT sqrt(greatest(var_pop(kwh), 1)) AS a FROM meters", WISH),
    "a mean weighted by what is private": ("SELECT sum(kwh * peak) / sum(peak) AS a FROM meters", WISH),
    "a slope": ("SELECT regr_slope(kwh, rooms) AS a FROM meters", WISH),
    "a function of rows": ("SELECT avg(exp(-kwh / 10)) AS a, avg(1 / peak) AS b FROM meters", WISH),
    "a quantile": ("SELECT tariff, median(kwh) AS a FROM meters GROUP BY tariff", WISH),
    "a histogram": ("SELECT histogram(soft(kwh, 2), 5, 10, 20) AS a FROM meters", WISH),
    "totals": ("SELECT tariff, rooms, sum(kwh) AS a FROM meters GROUP BY ROLLUP (tariff, rooms)", {"max_error": 9000}),
    "running totals": (
        "SELECT rooms, sum(peak) AS v, sum(sum(peak)) OVER (ORDER BY rooms) AS r FROM meters GROUP BY rooms",
        {"max_error": 5000.0},
    ),
    "a join": ("SELECT h.class, avg(kwh) AS a FROM meters m JOIN homes h USING (household) GROUP BY h.class", WISH),
    "a deviation in a join": (
        "SELECT h.class, stddev_pop(kwh) AS a FROM meters m JOIN homes h USING (household) GROUP BY h.class",
        WISH,
    ),
    "a share to spend": ("SELECT tariff, avg(kwh) AS a FROM meters GROUP BY tariff", SPEND),
    "a share to spend on parts": ("SELECT tariff, stddev_pop(kwh) AS a, avg(kwh) AS b FROM meters GROUP BY 1", SPEND),
    "never too small": ("SELECT avg(peak) AS a FROM meters", {"support": ef.HalfLine(0.0), "max_loss": 100.0}),
}
OF_MONTHS = {
    "the whole": ("SELECT tariff, avg(kwh) AS a FROM meters GROUP BY tariff", WISH),
    "groups of parts": ("SELECT day, tariff, avg(kwh) AS a, count(*) AS n FROM meters GROUP BY day, tariff", WISH),
    "months": ("SELECT date_trunc('month', day) AS m, sum(kwh) AS a FROM meters GROUP BY m ORDER BY a", WISH),
    "a deviation": ("SELECT day, stddev_pop(kwh) AS a, avg(kwh) AS b FROM meters GROUP BY day", WISH),
    "a median": ("SELECT date_trunc('month', day) AS m, tariff, median(kwh) AS a FROM meters GROUP BY m, tariff", WISH),
    "parts without a row": ("SELECT tariff, day, sum(kwh) AS a FROM meters WHERE batch <> 2 GROUP BY 1, 2", WISH),
    "some parts": ("SELECT day, sum(kwh) AS a FROM meters WHERE day >= '2024-02-01' GROUP BY day LIMIT 2", WISH),
    "a share to spend": ("SELECT day, avg(kwh) AS a FROM meters GROUP BY day", SPEND),
}
OF_PATIENTS = {
    "records": ("SELECT sex, count(*) AS n, sum(cost) AS c FROM patients GROUP BY sex", {"max_error": 20000}),
    "an average of records": ("SELECT region, avg(cost) AS c FROM patients GROUP BY region", {"max_error": 20000}),
    "a median of records": ("SELECT sex, median(age) AS c FROM patients GROUP BY sex", {"max_error": 2000}),
    "a deviation of records": ("SELECT stddev_pop(cost) AS a FROM patients WHERE age > 60", {"max_error": 20000}),
}


@pytest.fixture(params=["plain", "with owners"])
def town(request, tmp_path):
    write_town(tmp_path / "town", owner=request.param != "plain")
    return registered(tmp_path / "town")


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    folder = tmp_path_factory.mktemp("months")
    write_months(folder, [1, 2, 3])
    write_catalogue(folder)
    return registered(folder)


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    return write_patients(tmp_path_factory.mktemp("patients"), visits())


def registered(folder):
    """Register with floors so low that whatever is asked can be afforded."""
    path = folder / "errorfloor.toml"
    text = path.read_text()
    for floor, lower in {"0.5": "0.0001", "0.1": "0.0001", "0.05": "0.000001", "0.2": "0.000001"}.items():
        for end in ("\n", " }", ","):
            text = text.replace(f"floor = {floor}{end}", f"floor = {lower}{end}")
    path.write_text(text)
    register_house(load(path))
    return path


def stated(answer):
    """Give all that is said of an answer."""
    said = answer.to_dict() | {"fresh": None}
    for one in said["outputs"]:
        if "information" in one:  # of joint noise the last bit may differ
            one["information"] = float(f"{one['information']:.12g}")
    return said, answer.max_error, answer.explain(), answer.summary(), answer.remarks(), answer.charge


def check(path, question, scans, *, is_new=True):
    """Ask twice and again after a restart; the second and the third say the same, and the third has nothing scanned."""
    text, wish = question
    with ef.open(path) as db:
        first = db.ask(text, **wish)
        assert bool(scans) == is_new
        again = db.ask(text, **wish)
    scans.clear()
    with ef.open(path) as db:
        after = db.ask(text, **wish)
        priced = db.price(text, **wish)
        assert db.ask(text, charge=False, **wish).to_arrow().equals(first.to_arrow())
    assert not scans
    assert after.to_arrow().equals(first.to_arrow()) and after.cells() == again.cells() == first.cells()
    assert stated(after) == stated(again) and not any(after.fresh)
    assert priced.max_error == after.max_error == first.max_error
    assert not any(charge.information or charge.raised_cosine for charge in after.charge.values())


@pytest.mark.parametrize("kind", OF_TOWN)
def test_a_question_of_any_kind(town, scans, kind):
    check(town, OF_TOWN[kind], scans)


@pytest.mark.parametrize("kind", OF_MONTHS)
def test_a_question_of_a_table_that_grows(months, scans, kind):
    check(months, OF_MONTHS[kind], scans)


@pytest.mark.parametrize("kind", OF_PATIENTS)
def test_a_question_of_a_table_that_protects_records(patients, scans, kind):
    check(patients, OF_PATIENTS[kind], scans)


def test_a_question_of_parts_some_of_which_came_later(tmp_path, scans):
    write_months(tmp_path, [1, 2])
    write_catalogue(tmp_path)
    path = registered(tmp_path)
    question = OF_MONTHS["groups of parts"]
    check(path, question, scans)
    write_months(tmp_path, [1, 2, 3])
    grow(tmp_path)
    with ef.open(path) as db:
        assert db.ask(question[0], **question[1]).fresh == (True,)
    scans.clear()
    check(path, question, scans, is_new=False)


def test_another_wish_is_read_as_the_table_has_it_though_one_was_kept(town, scans):
    """What is kept says how the question was answered then; another bound is prepared from public facts as ever."""
    text, _ = OF_TOWN["made of parts and not"]
    with ef.open(town) as db:
        db.ask(text, **WISH)
    with ef.open(town) as db:
        kept = db.ask(text, **WISH)
        other = db.ask(text, max_error=1500.0)
        assert any(other.fresh) and other.prepared.question == kept.prepared.question
        assert db.ask(text, **WISH).to_arrow().equals(kept.to_arrow())


def test_a_standing_question(tmp_path, scans):
    house = followed_house.House(tmp_path / "house")
    house.register("1", 3)
    with house.open() as db:
        first = db.follow(followed_house.SUM, **followed_house.HORIZON).release("2024-02")
    assert scans
    scans.clear()
    with house.open() as db:
        again = db.follow(followed_house.SUM, **followed_house.HORIZON)
        assert again.release("2024-02") == again.figures() == first
        assert db.followed(again.name).figures() == first
    assert not scans
