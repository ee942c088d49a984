from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from pipeline.analysis import MAX_TERM_CHARACTERS, analyse, embedding_question, embedding_text, lexical_text


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
