"""Quote mode: which spans are quoted, in which order, and how they are shown."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.answering import quotes as quoting
from pipeline.answering.quotes import MOST_CHARACTERS, MOST_SHOWN, READ, Quote, choose_quotes
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeCrossEncoder
from tests.pipeline.ingest_runs import run_ingest
from tests.pipeline.searching import make_search, make_store

QUESTION = "Why does the LN2 tank show OFFLINE?"
MORE = " ".join(f"Rust is on pipe {number} behind the galley wall." for number in range(24))
"""More text than a quote may have; it answers nothing that is asked here."""


@pytest.fixture(autouse=True)
def keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a manual of ten sentences one has nearly all of the chance."""
    monkeypatch.setattr(quoting, "WORTH_QUOTING", 0.0)


def quotes_for(store: EmbeddedStore, question: str, *, limit: int = 5) -> list[Quote]:
    return choose_quotes(make_search(store).search(question), store=store, limit=limit)


def file_of(store: EmbeddedStore, quote: Quote) -> str:
    return store.document(quote.citation.source).text


@pytest.mark.parametrize(
    "question", [QUESTION, "fan", "Who resets a breaker?", "Batteries at night", "What hums at 4000 rpm?"]
)
def test_a_quote_is_an_exact_span_of_its_file(manual: EmbeddedStore, question: str) -> None:
    quotes = quotes_for(manual, question)
    assert [quote.citation.marker for quote in quotes] == list(range(1, len(quotes) + 1)) != []
    for quote in quotes:
        cited, unit, text = quote.citation, quote.unit, file_of(manual, quote)
        assert cited.quote == text[cited.start : cited.end] == cited.quote.strip() != ""
        assert cited.start_line == text[: cited.start].count("\n") + 1
        assert cited.end_line == text[: cited.end].count("\n") + 1
        assert unit.answer_start is None or text[unit.answer_start : unit.answer_end] == quote.best.text


def test_a_short_section_is_quoted_whole(tmp_path: Path) -> None:
    steps = "A cartridge is loaded in three steps:\n\n- Open the locker.\n- Load it.\n\nThen it hums."
    store = make_store(tmp_path, {"lioh.md": f"# Cartridge\n\n{steps}\n"})
    (quote,) = quotes_for(store, "How is a cartridge loaded?")
    assert (quote.citation.quote, quote.unit.lead, quote.unit.cut(quote.citation)) == (steps, "", ("", ""))


def test_the_page_whose_title_is_the_question_is_quoted_first_from_its_beginning(tmp_path: Path) -> None:
    words = "A connection pool keeps connections: a connection pool has a size of connections."
    page = f"# Connection pool\n\nIt is 5.\n\n{MORE * 9}\n\n{words}\n"
    store = make_store(tmp_path, {"pool.md": page, "new.md": f"# New\n\n{words[2:]}\n"})
    first, *others = quotes_for(store, "connection pool")
    assert first.citation.quote.startswith("It is 5.")
    assert [quote.citation.source for quote in others] == ["pool.md", "pool.md", "new.md"]


def test_an_introduction_is_quoted_with_the_first_method_below_it(tmp_path: Path) -> None:
    intro = "The admin forgot the password: there are two methods to reset the password."
    methods = f"## In a container\n\nReset it with `helper`.\n\n## In a stack\n\n{MORE} {MORE}\n"
    store = make_store(tmp_path, {"reset.md": f"# Reset the password\n\n{intro}\n\n{methods}"})
    quote = quotes_for(store, "The admin forgot the password, how can I reset it?")[0]
    assert quote.citation.quote == f"{intro}\n\n## In a container\n\nReset it with `helper`."


def test_the_steps_of_a_whole_procedure_answer_together(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a.md": f"# Load\n\n{MORE}\n\nLoad it:\n\n1. Open it.\n2. Load it.\n"})
    unit = quotes_for(store, "How do I load it?")[0].unit
    assert (unit.kind, unit.answer_start, unit.answer_end) == ("steps", None, None)


def test_a_long_list_is_cut_around_the_item_that_answers(tmp_path: Path) -> None:
    items = "\n".join(f"- part {number} of the ship, bolted to frame {number}" for number in range(40))
    store = make_store(tmp_path, {"parts.md": f"# Parts\n\nThe ship has **these spares:**\n\n{items}\n"})
    quote = quotes_for(store, "Is part 20 bolted to frame 20?")[0]
    unit, text = quote.unit, file_of(store, quote)
    assert (unit.kind, unit.cut(quote.citation)) == ("list", ("…", ""))
    assert unit.lead == "The ship has **these spares:**"
    assert text[unit.start : unit.end] == f"{unit.lead}\n\n{items}"


def test_what_introduces_a_long_list_stands_with_its_first_items(tmp_path: Path) -> None:
    items = "\n".join(f"- part {number} of the ship, bolted to frame {number}" for number in range(40))
    store = make_store(tmp_path, {"parts.md": f"# Parts\n\nThe galley has spares:\n\n{items}\n"})
    quote = quotes_for(store, "What spares does the galley have?")[0]
    assert quote.citation.quote.startswith("The galley has spares:\n\n- part 0")
    assert (quote.unit.lead, quote.unit.cut(quote.citation)) == ("", ("", "…"))


def test_a_long_table_is_quoted_once_and_never_by_its_header_alone(tmp_path: Path) -> None:
    note = "of the cabin, with a long note on what it cools"
    rows = "\n".join(f"| FAN-{n} | fan number {n} {note} |" for n in range(30))
    store = make_store(tmp_path, {"fans.md": f"# Fans\n\n| Part | Name |\n|---|---|\n{rows}\n"})
    (quote,) = quotes_for(store, "Which fan of the cabin cools what?")
    assert quote.unit.kind == "table"
    assert "| FAN-" in quote.citation.quote
    assert any(quote.unit.cut(quote.citation))


def test_quotes_do_not_overlap_and_no_sentence_is_quoted_twice(tmp_path: Path) -> None:
    store = make_store(
        tmp_path,
        {
            "a.md": f"# Fan\n\nThe cabin fan hums loudly.\n\n{MORE}\n\nThe fan of the cabin is old.\n",
            "b.md": "# Fan\n\nThe cabin fan hums loudly.\n",
        },
    )
    quotes = quotes_for(store, "Does the cabin fan hum loudly?")
    assert sum("hums" in quote.citation.quote for quote in quotes) == 1
    places = sorted((quote.citation.source, quote.citation.start, quote.citation.end) for quote in quotes)
    for (source, _, end), (other, start, _) in pairwise(places):
        assert source != other or end <= start


@pytest.mark.parametrize(("enough", "shown"), [(0.0, 1), (2.0, MOST_SHOWN)])
def test_as_many_quotes_are_shown_as_are_enough_at_most_three(
    manual: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, enough: float, shown: int
) -> None:
    monkeypatch.setattr(quoting, "ENOUGH", max(enough, 1e-9))
    quotes = quotes_for(manual, "fan")
    assert [quote.unit.folded for quote in quotes] == [False] * shown + [True] * (len(quotes) - shown)


def test_where_the_documents_may_not_answer_the_best_two_are_shown(manual: EmbeddedStore) -> None:
    found = make_search(manual).search("fan")
    unsure = replace(found, answerability=replace(found.answerability, threshold=0.0, sure=2.0))
    quotes = choose_quotes(unsure, store=manual, limit=5)
    assert [quote.unit.folded for quote in quotes] == [False, False]


def test_a_cross_encoder_that_reranked_reads_the_first_quotes(manual: EmbeddedStore) -> None:
    found, reader = make_search(manual).search("fan"), FakeCrossEncoder([0.0, 100.0, 200.0])

    def best(*, rerank_score: float | None) -> list[str]:
        passages = tuple(replace(passage, rerank_score=rerank_score) for passage in found.passages)
        quotes = choose_quotes(replace(found, passages=passages), store=manual, limit=5, cross_encoder=reader)
        return [quote.best.node_id for quote in quotes]

    alone = best(rerank_score=None)
    assert reader.calls == []
    assert best(rerank_score=0.5) == [*reversed(alone[:READ]), *alone[READ:]]
    assert [len(texts) for _, texts in reader.calls] == [READ]


def test_of_a_parent_several_sections_are_quoted_with_their_headings(tmp_path: Path) -> None:
    text = "# Bus\n\n## Symptoms\n\nThe bus is dark.\n\n## Fix\n\nReset the breaker."
    store = make_store(tmp_path, {"bus.md": text + "\n"})
    found = make_search(store).search("The bus is dark")
    sections = {p.section.metadata["heading_path"][-1]: p.section for p in found.passages}
    parent = replace(sections["Symptoms"], text=text, start_char_idx=0, end_char_idx=len(text))  # type: ignore[type-var]
    members = {sections["Symptoms"].node_id: 1.0, sections["Fix"].node_id: 0.5}
    passage = replace(found.passages[0], section=parent, members=members)
    (quote,) = choose_quotes(replace(found, passages=(passage,)), store=store, limit=5)
    assert quote.citation.quote == text


def test_no_quote_is_longer_than_it_may_be(tmp_path: Path) -> None:
    long = " ".join(f"The pump leaks coolant at joint {number}." for number in range(60))
    store = make_store(tmp_path, {"pump.md": f"# Pump\n\n{long}\n\n{long.replace('coolant', 'oil')}\n"})
    quotes = quotes_for(store, "Where does the pump leak coolant?")
    assert 0 < max(len(quote.citation.quote) for quote in quotes) <= MOST_CHARACTERS


def test_a_section_that_was_deleted_meanwhile_is_not_quoted(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    retrieval = make_search(store).search("Which way does the antenna point?")
    manifest = store.statistics().manifest
    assert manifest is not None
    with store.writing(manifest) as writing:
        writing.delete("comms.md")
    quotes = choose_quotes(retrieval, store=store, limit=9)
    assert all(quote.citation.source != "comms.md" for quote in quotes)


def test_carriage_returns_tables_and_marks_stay_as_they_are(tmp_path: Path) -> None:
    table = "| part | state |\r\n|---|---|\r\n| fan | *OFF* |\r\n| pump | ON |\r\n"
    text = f"\ufeff# States\r\n\r\nThe **fan's** state is in this table:\r\n\r\n{table}"
    (tmp_path / "manual").mkdir()
    store = EmbeddedStore(tmp_path / "store")
    (tmp_path / "manual" / "states.md").write_bytes(text.encode())
    run_ingest(store, tmp_path / "manual")
    (quote, *_) = quotes_for(store, "Which table has the state of the fan?", limit=1)
    assert quote.citation.quote == file_of(store, quote)[quote.citation.start : quote.citation.end]
    assert quote.citation.quote.startswith("The **fan's** state")
    assert quote.citation.quote.endswith("| pump | ON |")


def test_markup_alone_is_not_quoted(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"a.md": f"# Fan\n\n<a id='fan'></a>\n\n{MORE}\n\nThe fan hums.\n"})
    assert all("<a" not in quote.citation.quote for quote in quotes_for(store, "fan"))
