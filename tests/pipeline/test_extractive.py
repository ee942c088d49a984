"""Quote mode: which sentences are quoted, in which order, and exactly as the file has them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pipeline import extractive
from pipeline.answer import Retrieval
from pipeline.extractive import MAX_LIST_ITEMS, WORTH_QUOTING, Quote, choose_quotes
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import ENCODER, FILES, make_retriever, make_store

QUESTION = "Why does the LN2 tank show OFFLINE?"


def quotes_for(store: EmbeddedStore, question: str, *, limit: int = 5) -> list[Quote]:
    return choose_quotes(make_retriever(store).search(question), store=store, encoder=ENCODER, limit=limit)


def texts(store: EmbeddedStore, question: str, *, limit: int = 5) -> list[str]:
    return [quote.text for quote in quotes_for(store, question, limit=limit)]


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


def test_the_best_sentence_alone(manual: EmbeddedStore) -> None:
    assert texts(manual, "Which way does the antenna point?", limit=1) == ["The antenna points at Earth."]


def test_a_sentence_brings_the_list_that_it_introduces(manual: EmbeddedStore) -> None:
    (quote, *_) = quotes_for(manual, QUESTION, limit=1)
    assert quote.text == (
        "When the LN2 tank shows OFFLINE, check these:\n\n"
        "- the breaker of the tank heater\n- the quantity sensor\n- the relief valve"
    )
    assert len(quote.leaves) == 4
    assert quote.text in FILES["systems/ecs.md"]


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    items = "\n".join(f"- part {number}" for number in range(30))
    store = make_store(tmp_path, {"parts.md": f"# Parts\n\nThe ship has **these spares:**\n\n{items}\n"})
    (quote,) = quotes_for(store, "Which spares does the ship have?", limit=1)
    assert len(quote.leaves) == 1 + MAX_LIST_ITEMS
    assert quote.text.endswith(f"- part {MAX_LIST_ITEMS - 1}")
    store.close()


def test_a_list_ends_with_its_last_item(manual: EmbeddedStore) -> None:
    assert not any("call the ground" in quote.text for quote in quotes_for(manual, QUESTION, limit=1))


def test_a_colon_before_prose_introduces_nothing(tmp_path: Path) -> None:
    store = make_store(
        tmp_path, {"note.md": "# Pump\n\nThe pump has one rule:\n\nNever run it dry.\n\n- Item\n"}
    )
    (quote, *_) = quotes_for(store, "Which rule has the pump?", limit=1)
    assert quote.text == "The pump has one rule:"
    store.close()


def test_an_item_within_a_quoted_list_is_not_quoted_again(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        {"note.md": "# Leak\n\nWhen the pump leaks coolant:\n\n- stop the pump leak\n- drain the coolant\n"},
    )
    quotes = quotes_for(store, "What when the pump leaks coolant?")
    assert [len(quote.leaves) for quote in quotes] == [3]
    store.close()


def test_lists_that_overlap_are_one_quote(tmp_path: Path) -> None:
    items = "\n".join(f"- pump item {number}" for number in range(4))
    more = "\n".join(f"- pump item {number}" for number in range(4, 12))
    text = (
        f"# Pump\n\nWhen the pump leaks do this:\n\n{items}\n- when the pump leaks again do this:\n{more}\n"
    )
    store = make_store(tmp_path, {"pump.md": text})
    quotes = quotes_for(store, "What to do when the pump leaks again?")
    assert len({leaf.node_id for quote in quotes for leaf in quote.leaves}) == sum(
        len(quote.leaves) for quote in quotes
    )
    for quote, following in pairwise(quotes):
        assert quote.end <= following.start
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
    fan = "A fan turns left. The ship is big. The cabin fan turns left in air."
    store = make_store(
        tmp_path, {"fan.md": f"# Fan\n\n{fan}\n", "air.md": "# Air\n\nThe cabin fan turns. It is dry.\n"}
    )
    quotes = quotes_for(store, "cabin fan turns left in air")
    assert [quote.text for quote in quotes] == [
        "A fan turns left.",
        "The ship is big.",
        "The cabin fan turns left in air.",
        "The cabin fan turns.",
        "It is dry.",
    ]
    scores = [quote.score for quote in quotes]
    assert max(scores) == scores[2] > scores[3] > scores[1]  # by score, the sections would be mixed
    store.close()


def test_at_most_limit_and_only_what_is_worth_it(manual: EmbeddedStore) -> None:
    assert len(quotes_for(manual, QUESTION, limit=2)) <= 2
    quotes = quotes_for(manual, QUESTION, limit=50)
    best = max(quote.score for quote in quotes)
    assert all(quote.score >= WORTH_QUOTING * best for quote in quotes)
    assert len(quotes) < manual.sentences.count()


def test_a_longer_limit_only_adds(manual: EmbeddedStore) -> None:
    few, many = set(texts(manual, "fan", limit=1)), set(texts(manual, "fan", limit=10))
    assert few <= many


def test_no_passages_no_quotes(manual: EmbeddedStore) -> None:
    assert texts(manual, QUESTION, limit=3)
    empty = make_retriever(manual, paths="nowhere/*").search(QUESTION)
    assert choose_quotes(empty, store=manual, encoder=ENCODER, limit=3) == []


def test_a_section_that_vanished_meanwhile_is_not_quoted(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    retrieval: Retrieval = make_retriever(store).search("Which way does the antenna point?")
    store.sections.delete_document("comms.md")
    quotes = choose_quotes(retrieval, store=store, encoder=ENCODER, limit=9)
    assert all(quote.passage.section.metadata["source"] != "comms.md" for quote in quotes)
    store.close()


def test_carriage_returns_tables_and_marks_stay_as_they_are(tmp_path: Path) -> None:
    table = "| part | state |\r\n|---|---|\r\n| fan | *OFF* |\r\n| pump | ON |\r\n"
    text = f"\ufeff# States\r\n\r\nThe **fan's** state is in this table:\r\n\r\n{table}"
    (tmp_path / "manual").mkdir()
    store = EmbeddedStore(tmp_path / "store")
    (tmp_path / "manual" / "states.md").write_bytes(text.encode())
    from tests.pipeline.ingesting import run_ingest

    run_ingest(store, tmp_path / "manual", encoder=ENCODER)
    (quote, *_) = quotes_for(store, "Which table has the state of the fan?", limit=1)
    assert [leaf.metadata["kind"] for leaf in quote.leaves] == ["prose", *["table_row"] * 3]
    assert quote.text == source_of(store, quote)[quote.start : quote.end]
    assert quote.text.startswith("The **fan's** state")
    assert quote.text.endswith("| pump | ON |")
    store.close()
