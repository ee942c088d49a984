from __future__ import annotations

from datetime import datetime

import numpy as np

from evals.conversations import spoken
from memory.recalling.turn_index import NONE, Turn, TurnIndex, date_words
from tests.fakes import FakeEncoder

LONG = " ".join(["We talked about the weather for a long time."] * 8)


def turns() -> list[Turn]:
    return [
        Turn(id="a1", session="a", speaker="Nadia", text="The hive is green. Do you like it?"),
        Turn(id="b1", session="b", speaker="Nadia", text="Good morning!"),
        Turn(id="a2", session="a", speaker="Oskar", text=f"{LONG} My staircase is of oak.", role="assistant"),
        Turn(id="a3", session="a", speaker="Nadia", text="I was stung yesterday."),
    ]


def test_neighbours_are_of_the_same_session() -> None:
    layout = TurnIndex(spoken(turns(), embed=FakeEncoder().encode_passages)).layout
    assert layout.before.tolist() == [NONE, NONE, 0, 2]
    assert layout.sessions.tolist() == [0, 1, 0, 0]
    assert layout.own.tolist() == [1, 1, 0, 1]
    assert layout.dated.tolist() == [0, 0, 0, 1]
    assert layout.asking.tolist() == [0.5, 0, 0, 0]


def test_a_turn_is_as_good_as_its_best_piece() -> None:
    encoder = FakeEncoder()
    index = TurnIndex(spoken(turns(), embed=encoder.encode_passages))
    assert len(encoder.texts) == 5  # the long turn has two pieces
    found = index.texts.similarities(encoder.encode_query(f"{LONG.split('. ')[0]}."))
    assert found.shape == (4,)
    assert found.argmax() == 2
    assert index.texts.scores(["oak"]).argmax() == 2
    assert np.count_nonzero(index.texts.scores(["oak"])) == 1


def test_turns_that_are_added_later_are_found_as_if_they_had_been_there() -> None:
    encoder = FakeEncoder()
    whole = TurnIndex(spoken(turns(), embed=encoder.encode_passages))
    grown = TurnIndex(spoken(turns()[:2], embed=encoder.encode_passages))
    assert len(grown.layout.before) == 2
    for turn in turns()[2:]:
        grown.add(spoken([turn], embed=encoder.encode_passages))
    vector = encoder.encode_query("green hive")
    assert np.array_equal(grown.texts.similarities(vector), whole.texts.similarities(vector))
    assert np.array_equal(grown.texts.scores(["hive"]), whole.texts.scores(["hive"]))
    assert grown.layout.before.tolist() == whole.layout.before.tolist()


def test_the_date_is_among_the_words() -> None:
    at = datetime(2023, 5, 8, 12).astimezone().timestamp()
    assert date_words(at) == "Monday 8 May 2023"
    turn = Turn(id="1", session="s", text="We met.", at=at)
    other = Turn(id="2", session="s", text="We parted.")
    index = TurnIndex(spoken([turn, other], embed=FakeEncoder().encode_passages))
    assert index.texts.scores(["may"]).argmax() == 0
