"""Lists that the documents keep in several tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.answering.quotes import MOST_WORDS_OF_LISTS, choose_quotes
from pipeline.answering.replies import quote_units
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import ENCODER, make_search, make_store

HEADER = "| Code | Alarm |\n|---|---|\n"
ALARMS = f"""\
# Alarms and codes

## How an alarm is built

| Part | Meaning |
|---|---|
| letter | how bad it is |

## Alarms of the cabin

{HEADER}| W-101 | PRESSURE |
| W-102 | OXYGEN |

## Alarms of power

These are the alarms of power:

{HEADER}| W-201 | BUS LOST |

## Self-test codes

{HEADER}| F-01 | PASS |
"""


@pytest.fixture
def alarms(tmp_path: Path) -> EmbeddedStore:
    return make_store(tmp_path, {"alarms.md": ALARMS, "fan.md": "# Fan\n\nThe fan moves air.\n"})


def shown(store: EmbeddedStore, question: str) -> list[tuple[str, bool]]:
    """The quotes with their lead, and whether they are folded."""
    found = make_search(store).search(question)
    quotes = choose_quotes(found, store=store, encoder=ENCODER, limit=5)
    return [(quote.shown, quote.folded) for quote in quotes]


def test_all_of_some_things_is_every_table_of_them_under_its_own_heading(alarms: EmbeddedStore) -> None:
    assert shown(alarms, "list all alarms") == [
        (f"{HEADER}| W-101 | PRESSURE |\n| W-102 | OXYGEN |", False),
        (f"These are the alarms of power:\n\n{HEADER}| W-201 | BUS LOST |", False),
    ]


def test_no_row_of_them_is_the_answer(alarms: EmbeddedStore) -> None:
    found = make_search(alarms).search("list all alarms")
    quotes = choose_quotes(found, store=alarms, encoder=ENCODER, limit=5)
    assert [unit.answer_start for unit in quote_units(quotes)] == [None, None]


@pytest.mark.parametrize("question", ["list all alarms of power", "list all", "what is an alarm?"])
def test_one_table_or_none_is_chosen_as_ever(alarms: EmbeddedStore, question: str) -> None:
    texts = [text for text, _ in shown(alarms, question)]
    assert not [text for text in texts if "W-101" in text and "W-201" in text]
    assert len(texts) != 2 or "W-101" not in texts[0] or "W-201" not in texts[1]


def test_what_is_longer_than_a_list_may_be_is_folded(tmp_path: Path) -> None:
    rows = "".join(f"| W-{number} | {'word ' * 20}|\n" for number in range(MOST_WORDS_OF_LISTS // 24))
    sections = "".join(f"## Alarms of {place}\n\n{HEADER}{rows}\n" for place in ("power", "air", "fire"))
    store = make_store(tmp_path, {"alarms.md": f"# Alarms\n\n{sections}"})
    assert [folded for _, folded in shown(store, "list all alarms")] == [False, True, True]
