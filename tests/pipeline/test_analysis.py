"""The terms that texts and questions are indexed and searched by, and the texts that are embedded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.analysis import (
    MAX_TERM_CHARACTERS,
    analyse,
    analyse_query,
    asked_names,
    embedding_text,
    lexical_terms,
)
from pipeline.nodes import StoredNode


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("en", "The tank-valves LEAKED in 2024", "the tank valv leak in 2024"),
        ("en", "TANK-LN2-T1", "tank ln2 t1 tank-ln2-t1"),
        ("en", "C105, C 105 and C-105s", "c 105 c-105 c 105 c-105 and c 105 c-105"),
        ("en", "version v3.5", "version 3 5 3.5"),
        ("en", "section 2.2.1 on 2024-01-06", "section 2 2 1 2.2.1 on 2024 01 06 2024-01-06"),
        ("en", "snake_case ﬁve", "snake case five"),  # a ligature is unified
        ("en", "retryCount HashMap mRNA OK", "retrycount retri count hashmap hash map mrna ok"),
        ("de", "Die Häuser", "die haus"),
        ("fr", "l'eau d'été", "eau été"),
        ("ja", "Rustの所有権", "rust の所 所有 有権"),
        ("zh", "所有权", "所有 有权"),
        ("ko", "소유권 규칙", "소유 유권 규칙"),
        ("th", "ภาษา", "ภา าษ ษา"),
        ("xx", "Running", "running"),
    ],
)
def test_words_become_stems_ids_stay_whole_and_dense_scripts_become_pairs(
    language: str, text: str, terms: str
) -> None:
    assert analyse(text, language) == terms.split()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("what is `$?`", ["$?"]),
        ("a && b, x => y", ["&&", "=>"]),
        ("pnpm install --frozen-lockfile", ["--frozen-lockfile"]),
        ("$_ in a loop", ["$_"]),
        *((marks, []) for marks in ("---", "=====", "|---|:--|", "**bold**", "well-- so", "a -- b")),
        *((marks, []) for marks in ("::: tip", "!!! x")),
    ],
)
def test_symbols_and_long_options_are_terms_and_marks_of_markdown_are_not(
    text: str, names: list[str]
) -> None:
    assert [term for term in analyse(text) if not term.isalnum()] == names


def test_a_query_has_the_stems_of_all_languages_and_its_key() -> None:
    assert analyse_query("Häuser") == ["häuser", "=häuser"]
    assert analyse_query("Häuser", ("en", "de")) == ["häuser", "haus", "=häuser"]
    assert analyse_query("") == []
    assert analyse_query("?!") == []
    assert not any(term.startswith("=") for term in analyse_query("why " * 60))


def test_a_first_section_has_a_term_for_each_name_of_its_page() -> None:
    metadata = {"title": "Cold Tank", "heading_path": ["Cold Tank"], "aliases": ["T-1"], "order": 0}
    assert {"=coldtank", "=t1"} <= set(lexical_terms("Text.", metadata).split())
    assert "=coldtank" not in lexical_terms("Text.", {**metadata, "order": 1}).split()


def test_a_section_has_a_term_for_each_name_that_its_headings_begin_with() -> None:
    metadata = {"heading_path": ["Pump", "7. Alarm C-105", "E-112: Stopped by C-9"], "order": 2}
    assert {t for t in lexical_terms("Text.", metadata).split() if t[0] == "#"} == {"#e-112", "#§7"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What does section 2.2.1 say?", {"2.2.1"}),
        ("what did we do on 2024-01-06", {"2024-01-06"}),
        ("alarm C-112, C 113 and E0382", {"c-112", "c-113", "e-0382"}),
        ("KB5034441 says 0x80070005", {"kb5034441", "0x80070005"}),
        ("what does section 7 say, or Kapitel 4 or §9", {"§7", "§4", "§9"}),
        ("is --Frozen-lockfile the default", {"--frozen-lockfile"}),
        ("what is $? for", {"$?"}),
        ("new in v3.5 or 2.x", {"3.5", "2.x"}),
        ("the well-known tank of 2024, 3 bars", set()),
        ("a -- b - c… & d?", set()),
    ],
)
def test_names_are_told_by_their_shape(text: str, found: set[str]) -> None:
    assert asked_names(text) == found


def test_what_is_shown_is_indexed_and_names_of_the_page_with_it() -> None:
    metadata = {
        "heading_path": ["Fans", "Cabin"], "keywords": "cooling", "header": "| Part | Limit |",
        "shown": "\u2060\u2060\u2060H\u20602O",
    }  # fmt: skip
    assert lexical_terms("<b>H</b>2O", metadata) == "fan cabin cool part limit h2o"


def test_the_title_and_the_innermost_headings_are_embedded() -> None:
    path = ["Page", "One", "Two", "Three"]
    node = StoredNode("id", "Text.", {"heading_path": path}, 0, 5, "document")
    assert embedding_text(node) == "Page > Two > Three: Text."


@given(st.text(), st.text())
def test_terms_are_stored_separated_by_blanks_and_texts_are_analysed_apart(one: str, other: str) -> None:
    terms = analyse(one)
    assert " ".join(terms).split() == terms
    assert all(0 < len(term) <= MAX_TERM_CHARACTERS for term in terms)
    assert sorted(analyse(f"{one} \n {other}")) == sorted(terms + analyse(other))


def test_threads_agree() -> None:
    words = [f"{stem}{ending}" for stem in "abcdefgh" for ending in ("nations", "nating", "nated", "nate")]
    texts = [" ".join(words[start:] + words[:start]) for start in range(32)] * 8
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyse, texts)) == [analyse(text) for text in texts]
