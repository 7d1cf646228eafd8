"""The demo answers, charges, refuses and draws; again it is free."""

import json

from commands import run


def test_demo_answers_charges_refuses_and_draws(tmp_path):
    out = tmp_path / "out"
    shown = run("demo", "--output", str(out), "--json")
    assert shown.returncode == 0, shown.stderr
    report = json.loads(shown.stdout)
    assert len(report["answers"]) == 5
    assert all(all(answer["fresh"]) for answer in report["answers"])
    assert [refusal["message"] for refusal in report["refusals"] if refusal["message"] == "answered"] == []
    assert len(report["refusals"]) == 3
    assert all(0 < standing["used"] < 1 for standing in report["left"])
    assert sorted(path.name for path in out.glob("*.png")) == ["allowances.png", "months.png"]
    text = run("demo", "--output", str(out))  # again: the same answers, free
    assert text.returncode == 0, text.stderr
    assert "to the last digit" in text.stdout
    assert "Refused, since a private value must not select rows" in text.stdout
    for cell in report["answers"][0]["cells"]:
        assert f"{cell['outputs']['mean']['answer']:.3f} ± 0.5 kWh" in text.stdout
    assert " ".join(text.stdout.split()).count("; by this answer: 0 %.") >= 5
