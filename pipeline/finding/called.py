"""Sections that a question calls by name: by title ("show me the table of slots"), or by words in quotes.

So does "what is ECS" the section that begins with what an ECS is. They go before all others. Codes have
entries of their own (`entries.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import TypeVar

from pipeline.asking.kinds import Asked, asked_for
from pipeline.finding.definitions import WHOLE, defines
from pipeline.nodes import Node
from pipeline.stores.base import Ranking, SentenceIndex
from pipeline.terms import content_terms

AS_TITLES = (Asked.DEFINE, Asked.LIST, Asked.OTHER)  # kinds of question that may be nothing but a title
LONGEST_TITLE = 60  # characters of such a question
EXTRA = 1  # content words that a title of several may have more than the question
OPENING = 200  # characters of a section, in which it says what its subject is
LOOKED_AT = 100  # sections of the ranking
READ = 50  # sentences, of those that the words find

_QUOTED = re.compile(r"\"([^\"\n]{3,200})\"|“([^”\n]{3,200})”|«([^»\n]{3,200})»")

Item = TypeVar("Item")


def calls(question: str) -> Callable[[Node], bool] | None:
    """Tells the sections that a question calls by name; None where it calls none."""
    quoted = [_flat("".join(found)) for found in _QUOTED.findall(question)]
    if quoted:
        return lambda section: all(text in _flat(section.text) for text in quoted)
    asked = frozenset(content_terms(question))
    if len(question) > LONGEST_TITLE or not asked or asked_for(question) not in AS_TITLES:
        return None
    define = asked_for(question) is Asked.DEFINE
    return lambda section: (
        _is_title("".join(section.metadata["heading_path"][-1:]), asked)
        or (define and defines(section.text[:OPENING], asked) >= WHOLE)
    )


def called_first(
    items: Sequence[Item],
    sections: Sequence[Node | None],
    question: str,
    *,
    explained: Container[str] = frozenset(),
) -> list[Item]:
    """The items, those whose section is called by name before all others.

    Next come sections with an item of a list that says what is asked for: their ids are `explained`.
    """
    called = calls(question)
    if called is None:
        return list(items)

    def order(section: Node | None) -> int:
        if section is None:
            return 2
        return 0 if called(section) else 1 if section.node_id in explained else 2

    return [
        item for _, item in sorted(zip(map(order, sections), items, strict=True), key=lambda pair: pair[0])
    ]


def explained_in(question: str, hits: Ranking, index: SentenceIndex) -> frozenset[str]:
    """The sections of items of lists that say what is asked for, as a glossary's do; raises `StoreError`."""
    if asked_for(question) is not Asked.DEFINE or calls(question) is None:
        return frozenset()
    terms = frozenset(content_terms(question))
    nodes = index.get_many([hit.node_id for hit in hits[:READ]]).values()
    return frozenset(
        node.section_id
        for node in nodes
        if node.metadata["kind"] == "list_item" and defines(node.text, terms) >= WHOLE
    )


def _is_title(heading: str, asked: frozenset[str]) -> bool:
    """Whether a heading says what was asked and nothing else; a longer one may say a word more."""
    words = frozenset(content_terms(heading))
    return words == asked or (len(asked) > 1 and asked < words and len(words - asked) <= EXTRA)


def _flat(text: str) -> str:
    return " ".join(re.sub(r"[`*]", "", text).casefold().split())
