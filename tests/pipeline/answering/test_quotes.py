"""Quote mode: which units are quoted, in which order, and exactly as the file has them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pipeline.answer import Retrieval
from pipeline.answering import quotes as quoting
from pipeline.answering.leaf_chances import SIGNALS, WEIGHTS, Candidate, chances, leaf_signals
from pipeline.answering.quotes import MOST_SHOWN, MOST_WORDS, Quote, choose_quotes
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.ingest_runs import run_ingest
from tests.pipeline.searching import ENCODER, make_search, make_store

QUESTION = "Why does the LN2 tank show OFFLINE?"
MORE = " ".join(f"Rust is on pipe {number} behind the galley wall." for number in range(12))
"""More words than a section may have that is quoted whole; they answer nothing that is asked here."""


@pytest.fixture(autouse=True)
def keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a manual of ten sentences one has nearly all of the chance."""
    monkeypatch.setattr(quoting, "WORTH_QUOTING", 0.0)


def quotes_for(store: EmbeddedStore, question: str, *, limit: int = 5) -> list[Quote]:
    return choose_quotes(make_search(store).search(question), store=store, encoder=ENCODER, limit=limit)


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
        assert quote.best in quote.leaves


def test_a_short_section_is_quoted_whole(tmp_path: Path) -> None:
    steps = (
        "A cartridge is loaded in three steps. First open the locker. Then load it. Last select the canister."
    )
    store = make_store(tmp_path, {"lioh.md": f"# Cartridge\n\n{steps}\n"})
    (quote,) = quotes_for(store, "How is a cartridge loaded in steps?")
    assert (quote.text, quote.kind, quote.lead) == (steps, "paragraph", "")
    store.close()


def test_a_list_comes_with_what_introduces_it_and_its_bullets(tmp_path: Path) -> None:
    text = "When the LN2 tank shows OFFLINE, check these:\n\n- the heater\n- the sensor\n- the relief valve"
    store = make_store(tmp_path, {"ecs.md": f"# ECS\n\n{MORE}\n\n{text}\n\n{MORE}\n"})
    best = quotes_for(store, "When the LN2 tank shows OFFLINE, check what?")[0]
    assert text in best.text
    store.close()


def test_a_long_list_is_cut_and_the_rest_is_counted(tmp_path: Path) -> None:
    items = "\n".join(f"- part {number} of the ship, bolted to frame {number}" for number in range(30))
    store = make_store(
        tmp_path, {"parts.md": f"# Parts\n\nThe ship has **these spares:**\n\n{items}\n\n{MORE}\n"}
    )
    quote = quotes_for(store, "Is part 20 bolted to frame 20?")[0]
    part = quote.part
    assert part.kind == "list"
    assert part.left_out_before + len(quote.leaves) + part.left_out_after == 30
    assert quote.shown.startswith("The ship has **these spares:**\n\n- part")
    whole = source_of(store, quote)[part.start : part.end]
    assert whole.startswith("The ship has") and whole.endswith("- part 29 of the ship, bolted to frame 29")
    store.close()


def test_some_rows_of_a_long_table_come_with_its_header(tmp_path: Path) -> None:
    rows = "\n".join(f"| C-1{number:02} | alarm of the cabin {number} | act |" for number in range(20))
    table = f"| Code | Alarm | Do |\n|---|---|---|\n{rows}"
    store = make_store(tmp_path, {"codes.md": f"# Alarms of the cabin\n\n{table}\n\n{MORE}\n"})
    some = quotes_for(store, "What is alarm C-115 of the cabin?")[0]
    assert some.part.left_out_before + some.part.left_out_after > 0
    assert "| Code | Alarm | Do |\n|---|---|---|" in some.shown
    store.close()


def test_quotes_do_not_overlap_and_say_nothing_twice(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        {
            "a.md": f"# Fan\n\nThe cabin fan hums loudly. {MORE} The fan of the cabin is old.\n",
            "b.md": "# Fan\n\nThe cabin fan hums loudly.\n",
            "c.md": "# Fan\n\nThe cabin fan hums, loudly!\n",
        },
    )
    quotes = quotes_for(store, "Does the cabin fan hum loudly?")
    assert sum("hums" in quote.text for quote in quotes) == 1
    for one, two in pairwise(sorted(quotes, key=lambda quote: (quote.passage.section.node_id, quote.start))):
        if one.passage.section.node_id == two.passage.section.node_id:
            assert one.end <= two.start
    store.close()


def test_the_best_is_shown_and_what_is_not_needed_is_folded(
    manual: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> list[bool]:
        return [not quote.folded for quote in quotes_for(manual, "fan")]

    monkeypatch.setattr(quoting, "ENOUGH", 0.0)
    monkeypatch.setattr(quoting, "CLOSE", 2.0)
    assert shown() == [True] + [False] * (len(shown()) - 1)
    monkeypatch.setattr(quoting, "CLOSE", 0.0)  # all are short
    assert shown() == [True] * MOST_SHOWN + [False] * (len(shown()) - MOST_SHOWN)
    monkeypatch.setattr(quoting, "CLOSE", 2.0)
    monkeypatch.setattr(quoting, "ENOUGH", 2.0)
    assert shown() == [True] * MOST_SHOWN + [False] * (len(shown()) - MOST_SHOWN)
    assert len(shown()) > MOST_SHOWN


def test_what_has_next_to_no_chance_is_left_out(
    manual: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = quotes_for(manual, "fan")
    monkeypatch.setattr(quoting, "WORTH_QUOTING", every[1].score / every[0].score)
    assert len(quotes_for(manual, "fan")) == 2 < len(every)


def test_a_longer_limit_only_adds(manual: EmbeddedStore) -> None:
    spans = [[(quote.start, quote.end) for quote in quotes_for(manual, "fan", limit=n)] for n in (1, 2, 4)]
    assert spans[0] == spans[1][:1] == spans[2][:1]
    assert spans[1] == spans[2][:2]
    assert [len(found) for found in spans] == [1, 2, 4]


def test_where_the_documents_may_not_answer_the_best_two_are_shown(manual: EmbeddedStore) -> None:
    found = make_search(manual).search("fan")
    unsure = replace(found, answerability=replace(found.answerability, threshold=0.0, sure=2.0))
    assert unsure.answerability.verdict == "closest"
    quotes = choose_quotes(unsure, store=manual, encoder=ENCODER, limit=5)
    assert [quote.folded for quote in quotes] == [False, False]


def test_of_a_parent_the_leaves_of_all_its_sections_are_quoted(tmp_path: Path) -> None:
    text = "# Bus\n\n## Symptoms\n\nThe bus is dark.\n\n## Fix\n\nReset the breaker."
    store = make_store(tmp_path, {"bus.md": text + "\n"})
    found = make_search(store).search("The bus is dark")
    sections = {p.section.metadata["heading_path"][-1]: p.section for p in found.passages}
    parent = replace(  # type: ignore[type-var]
        sections["Symptoms"], text=text, start_char_idx=0, end_char_idx=len(text)
    )
    passage = replace(
        found.passages[0],
        section=parent,
        members=(sections["Symptoms"].node_id, sections["Fix"].node_id),
        member_scores=(1.0, 0.5),
    )
    (quote,) = choose_quotes(replace(found, passages=(passage,)), store=store, encoder=ENCODER, limit=5)
    assert quote.text == text
    store.close()


def test_chances_add_up_and_rise_with_what_speaks_for_a_leaf(manual: EmbeddedStore) -> None:
    assert set(WEIGHTS) == set(SIGNALS)
    found = make_search(manual).search("Does the fan hum?")
    leaves = [hit.node for passage in found.passages for hit in passage.sentences]
    candidates = [Candidate(leaf, found.passages[0], number) for number, leaf in enumerate(leaves)]
    vectors = manual.sentences.vectors([leaf.node_id for leaf in leaves])
    values = leaf_signals("Does the fan hum?", candidates, vectors, ENCODER.encode_query("Does the fan hum?"))
    assert values.shape == (len(leaves), len(SIGNALS))
    assert np.isfinite(values).all()
    chance = chances(values)
    assert chance.sum() == pytest.approx(1)
    closer = values.copy()
    closer[-1, SIGNALS.index("closeness")] += 1
    assert chances(closer)[-1] > chance[-1]
    assert chances(values, dict.fromkeys(SIGNALS, 0.0)) == pytest.approx(1 / len(leaves))


def test_no_quote_is_longer_than_it_may_be(tmp_path: Path) -> None:
    long = " ".join(f"The pump leaks coolant at joint {number}." for number in range(60))
    store = make_store(tmp_path, {"pump.md": f"# Pump\n\n{long}\n"})
    for quote in quotes_for(store, "Where does the pump leak coolant?"):
        assert len(quote.text.split()) <= MOST_WORDS
    store.close()


def test_no_passages_no_quotes(manual: EmbeddedStore) -> None:
    assert texts(manual, QUESTION, limit=3)
    empty = make_search(manual, paths="nowhere/*").search(QUESTION)
    assert choose_quotes(empty, store=manual, encoder=ENCODER, limit=3) == []


def test_a_section_that_vanished_meanwhile_is_not_quoted(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    retrieval: Retrieval = make_search(store).search("Which way does the antenna point?")
    with store.writing(store.sections.manifest()) as writing:
        writing.delete("comms.md")
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


def test_a_table_is_quoted_once_and_never_by_its_header_alone(tmp_path: Path) -> None:
    note = "of the cabin, with a long note on what it cools"
    rows = "\n".join(f"| FAN-{n} | fan number {n} {note} |" for n in range(30))
    store = make_store(tmp_path, {"fans.md": f"# Fans\n\n| Part | Name |\n|---|---|\n{rows}\n"})
    found = make_search(store).search("Which fan of the cabin cools what?")
    quotes = choose_quotes(found, store=store, encoder=ENCODER, limit=5)
    tables = [quote for quote in quotes if quote.kind == "table"]
    assert len(tables) == 1
    assert "| FAN-" in tables[0].text
    store.close()
