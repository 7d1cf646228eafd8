"""How answers are computed may change; what is answered, stated and charged may not."""

import json

from recorded import KEPT, TOWNS, WIDE, aspects, opened


def test_recorded_questions_have_the_values_bounds_charges_and_answers_that_were_recorded(tmp_path):
    kept = json.loads(KEPT.read_text())
    for town in TOWNS:
        every = 1 if town == "plain" else 4  # of a cube others are parts, so that it must have been asked
        questions = [text for place, text in enumerate(kept[town]) if place % every == 0 or "CUBE" in text]
        with opened(tmp_path / town, town) as database:
            found = {text: aspects(database, text, WIDE[town]) for text in questions}
        assert found == {text: kept[town][text] for text in questions}
