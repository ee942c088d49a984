"""Links: what a passage names, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.answer import Passage
from pipeline.finding import links
from pipeline.finding.links import follow
from pipeline.finding.tree import Trees, heading_path
from pipeline.nodes import ScoredNode
from pipeline.steps.records import LinksStep
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import ENCODER, make_search, make_store, section_named, the_step

FILES = {
    "reference/alarms.md": """\
# Alarms

| Code | Alarm | Procedure |
|---|---|---|
| W-202 | BUS LOST | P-EPS-01 |
| W-301 | FUEL LOW | P-PRP-07 |

## Lamps

A red lamp is explained in [the panel](../panel.md#the-red-lamp).

## Elsewhere

A blue lamp is explained in [a book](https://example.org/panel.md) and in [another](gone.md#lamp).
""",
    "procedures/power.md": """\
# Power procedures

## P-EPS-01: Main bus lost

### Symptoms

Half of the ship is dark.

### Fix

Close the breaker.
""",
    "panel.md": "# Panel\n\nIt has lamps.\n\n## The *red* lamp\n\nIt burns when the bus is lost.\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    store = make_store(tmp_path_factory.mktemp("links"), FILES)
    yield store
    store.close()


def passage_of(store: EmbeddedStore, heading: str, *, score: float = 0.8) -> Passage:
    """A passage with all its sentences found."""
    section_id = section_named(store, heading)
    leaves = store.sentences.of_sections([section_id])[section_id]
    section = store.sections.get_many([section_id])[section_id]
    return Passage(section, tuple(ScoredNode(leaf, 0.5) for leaf in leaves), False, score)


def led(
    store: EmbeddedStore, question: str, *passages: Passage, paths: str | None = None
) -> list[tuple[str, float, int]]:
    """The passages after links were followed: own heading, score, number of sections."""
    found, _ = follow(
        passages, question, store=store, trees=Trees(store.sections),
        vector=ENCODER.encode_query(question), paths=paths,
    )  # fmt: skip
    return [
        (heading_path(passage)[-1], round(passage.score, 3), len(passage.section_ids)) for passage in found
    ]


def test_a_code_in_the_row_that_was_asked_about_brings_the_procedure_whole(store: EmbeddedStore) -> None:
    alarms = passage_of(store, "Alarms")
    assert led(store, "W-202 BUS LOST, what now?", alarms) == [
        ("Alarms", 0.8, 1), ("P-EPS-01: Main bus lost", 0.8, 2)
    ]  # fmt: skip


def test_its_score_is_the_share_of_the_question_that_the_naming_sentence_has(store: EmbeddedStore) -> None:
    """Of "bus", "lost" and "toast" the row has two."""
    assert led(store, "bus lost toast", passage_of(store, "Alarms"))[1] == (
        "P-EPS-01: Main bus lost", 0.533, 2
    )  # fmt: skip


def test_a_sentence_with_less_than_half_of_the_question_names_nothing(store: EmbeddedStore) -> None:
    assert len(led(store, "bus toast with butter", passage_of(store, "Alarms"))) == 1


def test_a_link_brings_its_section(store: EmbeddedStore) -> None:
    found, steps = follow(
        [passage_of(store, "Lamps")], "a red lamp", store=store, trees=Trees(store.sections),
        vector=None, paths=None,
    )  # fmt: skip
    assert [heading_path(passage) for passage in found] == [("Alarms", "Lamps"), ("Panel", "The red lamp")]
    assert found[1].led_by == found[0].section.node_id
    assert [(item.name, item.led_by) for item in steps] == [("../panel.md#the-red-lamp", found[1].led_by)]


def test_links_out_of_the_documents_lead_nowhere(store: EmbeddedStore) -> None:
    assert len(led(store, "a blue lamp", passage_of(store, "Elsewhere"))) == 1


def test_a_search_in_some_documents_stays_in_them(store: EmbeddedStore) -> None:
    assert len(led(store, "a red lamp", passage_of(store, "Lamps"), paths="reference/*")) == 1
    assert len(led(store, "bus lost", passage_of(store, "Alarms"), paths="reference/*")) == 1


def test_what_stands_higher_already_stays_as_it_is(store: EmbeddedStore) -> None:
    lamp = passage_of(store, "The red lamp", score=0.9)
    assert led(store, "a red lamp", lamp, passage_of(store, "Lamps")) == [
        ("The red lamp", 0.9, 1), ("Lamps", 0.8, 1)
    ]  # fmt: skip


def test_what_stands_lower_rises_with_what_was_found_of_it(store: EmbeddedStore) -> None:
    symptoms = passage_of(store, "Symptoms", score=0.1)
    found, _ = follow(
        [passage_of(store, "Alarms"), symptoms], "W-202 bus lost", store=store,
        trees=Trees(store.sections), vector=None, paths=None,
    )  # fmt: skip
    assert [heading_path(passage)[-1] for passage in found] == ["Alarms", "P-EPS-01: Main bus lost"]
    assert found[1].sentences == symptoms.sentences
    assert found[1].member_scores == (0.1, 0.0)


def test_the_row_of_a_code_that_is_asked_about_need_not_be_among_the_passages(store: EmbeddedStore) -> None:
    lamps = passage_of(store, "Lamps")
    assert led(store, "W-202 lost, the toast burns in the pan. What now?", lamps) == [
        ("Lamps", 0.8, 1), ("P-EPS-01: Main bus lost", 0.457, 2)
    ]  # fmt: skip
    assert len(led(store, "lost, the toast burns in the pan", lamps)) == 1
    assert len(led(store, "W-999 lost, the toast burns", lamps)) == 1
    assert len(led(store, "W-202, the toast burns", lamps, paths="panel.md")) == 1


def test_of_what_is_long_the_nearest_section_comes(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "MOST_WORDS", 5)
    found = led(store, "W-202 bus lost: close the breaker", passage_of(store, "Alarms"))
    assert found[1][0] == "Fix"


def test_a_search_follows_links_and_says_so(store: EmbeddedStore) -> None:
    retrieval = make_search(store, top_k=3).search("W-202 BUS LOST")
    (item,) = [led for led in the_step(retrieval, LinksStep).led if led.name == "P-EPS-01"]
    assert (item.source, len(item.members)) == ("procedures/power.md", 2)
    assert item.section_id in [passage.section.node_id for passage in retrieval.passages]
    off = make_search(store, top_k=3, follow_links=False).search("W-202 BUS LOST")
    assert the_step(off, LinksStep).status == "skipped"
    assert off.answerability == retrieval.answerability, "the verdict is on what was found itself"
