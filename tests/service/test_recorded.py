"""How answers are computed may change; what is answered, stated and charged may not."""

import json

import pytest

from recorded import KEPT, NOISES, TOWNS, WIDE, aspects, noise_aspects, opened


def test_recorded_questions_have_the_values_bounds_charges_and_answers_that_were_recorded(tmp_path):
    kept = json.loads(KEPT.read_text())
    for town in TOWNS:
        every = 1 if town == "plain" else 4  # of a cube others are parts, so that it must have been asked
        questions = [text for place, text in enumerate(kept[town]) if place % every == 0 or "CUBE" in text]
        with opened(tmp_path / town, town) as database:
            found = {text: aspects(database, text, max_error=WIDE[town]) for text in questions}
        assert found == {text: kept[town][text] for text in questions}


@pytest.mark.parametrize("name", NOISES)
def test_answers_with_every_noise_are_those_that_were_recorded(name, tmp_path):
    assert noise_aspects(tmp_path / "house", name) == json.loads(KEPT.read_text())["noises"][name]
