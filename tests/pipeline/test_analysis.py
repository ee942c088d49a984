from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from pipeline.analysis import MAX_TERM_CHARACTERS, analyse, embedding_question, embedding_text, lexical_text


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The tanks were venting.", ["the", "tank", "were", "vent"]),
        ("ECS-LN2-T1", ["ec", "ln2", "t1", "ecs-ln2-t1"]),
        ("`--top-k 5`", ["top", "k", "5"]),
        ("21.3 kPa", ["21", "3", "21.3", "kpa"]),
        ("snake_case_2", ["snake", "case", "2", "snake_case_2"]),
        ("don’t", ["don't"]),
        ("/etc/hosts:80", ["etc", "host", "80"]),
        ("ﬁne Ｆｕｌｌ ½", ["fine", "full", "1", "2"]),
        ("Ärger ÉTÉ", ["ärger", "été"]),
        ("S.P.A.C.E. and S.P.A.C.E.C.R.A.F.T", ["space", "and", "spacecraft"]),
        ("s.p.a.c.e, e.g. the U.S.-built", ["space", "e", "g", "the", "us", "built"]),
        ("the crew's tank-valve's C.O.", ["the", "crew", "tank", "valv", "co"]),
        ("1.2.3 a.b.c x.y a.bc", ["1", "2", "3", "1.2.3", "a", "b", "c", "x", "y", "a", "bc"]),
        ("J. Doe. I", ["j", "doe", "i"]),
        ("C-105", ["c", "105", "c-105"]),
        ("C 105. C105, c105; c-105's C-105s C105's", ["c", "105", "c-105"] * 6),
        ("RFC 2616 and sha256", ["rfc", "2616", "rfc-2616", "and", "sha", "256", "sha-256"]),
        ("in 2024, Chapter 5, Figure 12, c 105", ["in", "2024", "chapter", "5", "figur", "12", "c", "105"]),
        ("LN2 C 5 SPEED 100 C 10.5", ["ln2", "c", "5", "speed", "100", "c", "10", "5", "10.5"]),
        ("the 1990s, T 10s, C 12345", ["the", "1990s", "t", "10s", "c", "12345"]),
        ("X-C105 C105-B a.C105", ["x", "c105", "x-c105", "c105", "b", "c105-b", "a", "c105", "a.c105"]),
        ("...", []),
        ("", []),
    ],
)
def test_analyse(text: str, terms: list[str]) -> None:
    assert analyse(text) == terms


@given(st.text())
def test_terms_can_be_stored_separated_by_blanks(text: str) -> None:
    terms = analyse(text)
    assert " ".join(terms).split() == terms
    assert all(0 < len(term) <= MAX_TERM_CHARACTERS for term in terms)


@given(st.text(), st.text())
def test_texts_are_analysed_apart(one: str, other: str) -> None:
    assert analyse(f"{one} \n {other}") == analyse(one) + analyse(other)


def test_threads_agree() -> None:
    words = [f"{stem}{ending}" for stem in "abcdefgh" for ending in ("nations", "nating", "nated", "nate")]
    texts = [" ".join(words[start:] + words[:start]) for start in range(32)] * 8
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyse, texts)) == [analyse(text) for text in texts]


def test_the_texts_of_a_node() -> None:
    metadata = {"heading_path": ["Manual", "Tanks", "LN2"], "header": "| Part | Limit |"}
    node = TextNode(text="| T1 | 5 bar |", metadata=metadata)
    assert embedding_text(node) == "Tanks > LN2: | Part | Limit |\n| T1 | 5 bar |"
    assert lexical_text(node) == "manual tank ln2 part limit t1 5 bar"
    assert embedding_text(TextNode(text="Alone.")) == "Alone."
    assert lexical_text(TextNode(text="Alone.")) == "alon"


def test_initials_are_embedded_as_one_word() -> None:
    assert embedding_question("What is the S.P.A.C.E.C.R.A.F.T. module?") == "What is the SPACECRAFT module?"
    assert embedding_question("the U.S. and a.b.c.d, e.g. F.A.Q") == "the U.S. and a.b.c.d, e.g. F.A.Q"
