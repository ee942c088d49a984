"""Quote mode: which sentences are quoted, in which order, and exactly as the file has them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.answer import Retrieval
from pipeline.answering import quotes as extractive
from pipeline.answering.quotes import MAX_LIST_ITEMS, MOST_WORDS, WORTH_QUOTING, Quote, choose_quotes
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.ingest_runs import run_ingest
from tests.pipeline.searching import ENCODER, make_search, make_store

QUESTION = "Why does the LN2 tank show OFFLINE?"


def quotes_for(store: EmbeddedStore, question: str, *, limit: int = 5) -> list[Quote]:
    return choose_quotes(make_search(store).search(question), store=store, encoder=ENCODER, limit=limit)


def texts(store: EmbeddedStore, question: str, *, limit: int = 5) -> list[str]:
    return [quote.text for quote in quotes_for(store, question, limit=limit)]


MORE = " ".join(f"Rust is on pipe {number} behind the galley wall." for number in range(9))
"""More words than a section may have that is quoted whole; they answer nothing that is asked here."""


def source_of(store: EmbeddedStore, quote: Quote) -> str:
    return store.sections.document(quote.passage.section.metadata["source"]).text


@pytest.mark.parametrize(
    "question", [QUESTION, "fan", "Who resets a breaker?", "Batteries at night", "What hums at 4000 rpm?"]
)
def test_a_quote_is_what_the_file_has_there(manual: EmbeddedStore, question: str) -> None:
    quotes = quotes_for(manual, question)
    assert quotes
    for quote in quotes:
        assert quote.text == source_of(manual, quote)[quote.start : quote.end]
        assert quote.text.strip() == quote.text != ""


def test_a_sentence_comes_with_its_neighbours(manual: EmbeddedStore) -> None:
    assert texts(manual, "Does it hum at 4000 rpm?", limit=1) == [
        "The cabin fan moves the air. It hums at 4000 rpm. A broken fan shows OFFLINE."
    ]
    assert texts(manual, "Which way does the antenna point?", limit=1) == [
        "Call the ground on S-band. The antenna points at Earth."
    ]


def test_long_neighbours_stay_away(tmp_path: Path) -> None:
    long = " ".join(["Long"] * (MOST_WORDS - 4))
    next_fits = f"# Pump\n\n{long} before. The pump leaks coolant. {long}.\n"  # 4 words and 66: just fits
    too_long = f"# Pump\n\nShort. The pump leaks coolant. {long} after.\n"
    for name, text, expected in (
        ("fits", next_fits, f"The pump leaks coolant. {long}."),
        ("long", too_long, "The pump leaks coolant."),
    ):
        (tmp_path / name).mkdir()
        store = make_store(tmp_path / name, {"pump.md": text})
        assert texts(store, "Which coolant leaks from the pump?", limit=1) == [expected]
        store.close()


def test_a_short_section_is_quoted_whole(tmp_path: Path) -> None:
    steps = (
        "A cartridge is loaded in three steps. First open the locker. Then load it. Last select the canister."
    )
    store = make_store(tmp_path, {"lioh.md": f"# Cartridge\n\n{steps}\n"})
    assert texts(store, "How is a cartridge loaded in steps?", limit=1) == [steps]
    store.close()


def test_a_sentence_brings_the_list_that_it_introduces(tmp_path: Path) -> None:
    text = (
        "The LN2 tank holds nitrogen. When the LN2 tank shows OFFLINE, check these:\n\n"
        "- the breaker of the tank heater\n- the quantity sensor\n- the relief valve"
    )
    store = make_store(tmp_path, {"ecs.md": f"# ECS\n\n{text}\n\nThen call the ground. {MORE}\n"})
    assert texts(store, "When the LN2 tank shows OFFLINE, check what?", limit=1) == [text]
    store.close()


def test_the_next_sentence_brings_its_list_too(tmp_path: Path) -> None:
    text = "The pump leaks coolant. Then do this:\n\n- stop it\n- drain it\n- call"
    store = make_store(tmp_path, {"pump.md": f"# Leak\n\n{text}\n\nGood luck. {MORE}\n"})
    assert texts(store, "pump leaks coolant", limit=1) == [text]
    store.close()


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    items = "\n".join(f"- part {number}" for number in range(30))
    store = make_store(
        tmp_path, {"parts.md": f"# Parts\n\nThe ship has **these spares:**\n\n{items}\n\n{MORE}\n"}
    )
    (quote,) = quotes_for(store, "Which spares does the ship have?", limit=1)
    assert len(quote.leaves) == 1 + MAX_LIST_ITEMS
    assert quote.text.endswith(f"- part {MAX_LIST_ITEMS - 1}")
    store.close()


def test_no_sentence_is_quoted_twice(tmp_path: Path) -> None:
    items = "\n".join(f"- pump item {number}" for number in range(4))
    more = "\n".join(f"- pump item {number}" for number in range(4, 12))
    last = f"- when the pump leaks again do this:\n{more}"
    store = make_store(tmp_path, {"pump.md": f"# Pump\n\nWhen the pump leaks do this:\n\n{items}\n{last}\n"})
    quotes = quotes_for(store, "What to do when the pump leaks again?")
    ids = [leaf.node_id for quote in quotes for leaf in quote.leaves]
    assert len(ids) == len(set(ids)) > MAX_LIST_ITEMS
    for quote, following in pairwise(quotes):
        assert quote.end < following.start
    store.close()


def test_quotes_that_touch_are_one_and_others_are_not(tmp_path: Path) -> None:
    fillers = " ".join(f"Filler number {number} is here." for number in range(14))
    store = make_store(
        tmp_path, {"pump.md": f"# Pump\n\nA pump leaks coolant. {fillers} The pump leaks more coolant.\n"}
    )
    quotes = quotes_for(store, "pump leaks coolant", limit=2)
    assert [quote.text for quote in quotes] == [
        "A pump leaks coolant. Filler number 0 is here.",
        "Filler number 13 is here. The pump leaks more coolant.",
    ]
    store.close()


def test_what_is_said_twice_is_quoted_once(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        {
            "a.md": "# Fan\n\nThe cabin fan hums loudly.\n",
            "b.md": "# Fan\n\nThe cabin fan hums loudly.\n",
            "c.md": "# Fan\n\nThe cabin fan hums, loudly!\n",
        },
    )
    assert len(quotes_for(store, "Does the cabin fan hum loudly?")) == 1
    store.close()


def test_quotes_of_one_section_stand_together_in_reading_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractive, "WORTH_QUOTING", 0.0)
    monkeypatch.setattr(extractive, "MOST_WORDS", 0)  # no neighbours
    fan = "A fan turns left. The ship is big. The cabin fan turns left in air."
    store = make_store(
        tmp_path, {"fan.md": f"# Fan\n\n{fan}\n", "air.md": "# Air\n\nThe cabin fan turns. It is dry.\n"}
    )
    quotes = quotes_for(store, "cabin fan turns left in air", limit=3)
    assert [quote.text for quote in quotes] == [
        "A fan turns left.",
        "The cabin fan turns left in air.",
        "The cabin fan turns.",
    ]
    scores = [quote.score for quote in quotes]
    assert scores[1] > scores[0] > scores[2]
    store.close()


def test_at_most_limit_and_only_what_is_worth_it(
    manual: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractive, "MOST_WORDS", 0)
    question = "Does the radio antenna point at Earth?"
    assert len(quotes_for(manual, question, limit=2)) <= 2
    best, *others = sorted((quote.score for quote in quotes_for(manual, question, limit=50)), reverse=True)
    assert all(score >= WORTH_QUOTING * best for score in others)
    monkeypatch.setattr(extractive, "WORTH_QUOTING", 0.0)
    everything = [leaf for quote in quotes_for(manual, question, limit=50) for leaf in quote.leaves]
    assert len(everything) > 1 + len(others)


def test_a_longer_limit_only_adds(manual: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extractive, "MOST_WORDS", 0)

    def leaves(limit: int) -> set[str]:
        return {leaf.node_id for quote in quotes_for(manual, "fan", limit=limit) for leaf in quote.leaves}

    assert leaves(1) <= leaves(2) <= leaves(10)
    assert leaves(1) < leaves(10)


def test_no_passages_no_quotes(manual: EmbeddedStore) -> None:
    assert texts(manual, QUESTION, limit=3)
    empty = make_search(manual, paths="nowhere/*").search(QUESTION)
    assert choose_quotes(empty, store=manual, encoder=ENCODER, limit=3) == []


def test_a_section_that_vanished_meanwhile_is_not_quoted(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    retrieval: Retrieval = make_search(store).search("Which way does the antenna point?")
    store.delete_document("comms.md")
    quotes = choose_quotes(retrieval, store=store, encoder=ENCODER, limit=9)
    assert all(quote.passage.section.metadata["source"] != "comms.md" for quote in quotes)
    store.close()


def test_carriage_returns_tables_and_marks_stay_as_they_are(tmp_path: Path) -> None:
    table = "| part | state |\r\n|---|---|\r\n| fan | *OFF* |\r\n| pump | ON |\r\n"
    text = f"\ufeff# States\r\n\r\nThe **fan's** state is in this table:\r\n\r\n{table}"
    (tmp_path / "manual").mkdir()
    store = EmbeddedStore(tmp_path / "store")
    (tmp_path / "manual" / "states.md").write_bytes(text.encode())
    run_ingest(store, tmp_path / "manual", encoder=ENCODER)
    (quote, *_) = quotes_for(store, "Which table has the state of the fan?", limit=1)
    assert [leaf.metadata["kind"] for leaf in quote.leaves] == ["prose", *["table_row"] * 3]
    assert quote.text == source_of(store, quote)[quote.start : quote.end]
    assert quote.text.startswith("The **fan's** state")
    assert quote.text.endswith("| pump | ON |")
    store.close()
