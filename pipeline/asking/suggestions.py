"""Questions to click, made of headings: four to begin with, three that follow an answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pipeline.asking.language import rank
from pipeline.errors import UnknownDocument

if TYPE_CHECKING:
    from pipeline.answer import Citation
    from pipeline.nodes import StoredNode
    from pipeline.stores.base import DocumentInfo, SectionStore

QUESTIONS = 4
FOLLOW_UPS = 3
LOOKED_AT = 24  # documents: spread over all of them, they have questions enough, and are read in some 20 ms
NEARBY = 9  # follow-ups among which those of different forms come first
LEAST_CHARACTERS = 120  # of a section that is asked about: shorter ones are stubs and lists of links

_TRIVIAL = re.compile(
    r"\b(overview|introduction|summary|examples?|notes?|see also|contents|index|next steps?|related|appendix"
    r"|chapter|references?|readme|changelog|license|foreword|preface|faq|about|general|other|more|conclusion"
    r"|symptoms?|causes?|verification|background|purpose|usage|parameters?|request|response|prerequisites?)\b",
    re.IGNORECASE,
)
"""Headings that mean something only beside those above them."""

_FILE_NAME = re.compile(r"[\w./-]+\.[A-Za-z]{1,6}", re.ASCII)
"""A heading that is a file's name: `config.toml`."""

_CONTENTS = re.compile(r"summary|readme|index|(?:table of )?contents|toc", re.IGNORECASE)

_CLAUSE = re.compile(r"(?:if|when|where|while|how|why|what|which|who|after|before|until)\b", re.IGNORECASE)

_JOINED = re.compile(r"\b(?:and|or|of|with|for|in|to|as|by|from|on|at)\b|[^\w\s'-]")
_PLURAL = re.compile(r"[a-z]{2}[^sui]s$")
_CODE = re.compile(r"([A-Z]+-(?:[A-Z]+-)?\d+)(:?) \w")
"""A heading that begins with a code ("C-601 computer warm") or a number ("P-WTR-01: No water")."""
_NOUN_OF = re.compile(r"([A-Z][a-z]+) (?:of|for) (?:(?! and |[,:]).)+")

_SHORT_STEM = re.compile(r"[^aeiouy]*[aeiou][^aeiouwxy]")
"""Doubles its last letter before -ing ("setting"): "losing" is of "lose" and not of "los"."""

_NO_GERUNDS = frozenset({
    "anything", "being", "doing", "during", "evening", "everything", "morning", "nothing", "something",
    "spring", "string", "thing", "wing",
})  # fmt: skip


def suggested_questions(documents: Sequence[DocumentInfo], sections: SectionStore) -> list[str]:
    """Up to four questions that the documents answer, made of headings; always the same for the same ones.

    Of definitions and instructions in turn, each of another document as long as there are enough.
    """
    step = max(1, -(-len(documents) // LOOKED_AT))
    defined: list[str] = []
    explained: list[str] = []
    said: list[str] = []
    for info in documents[::step]:
        found = [section for section in sections.document(info.source).sections if _is_telling(section)]
        defined += islice(filter(None, map(_definition, found)), 1)
        explained += islice(filter(None, map(_instruction, found)), 1)
        said += filter(None, map(_about, found[:1]))
    in_turn = _in_turn([list(_spread(defined)), list(_spread(explained))])
    return list(dict.fromkeys([*in_turn, *_by_form(_spread(said))]))[:QUESTIONS]


def own_title(info: DocumentInfo) -> str:
    """A document's title; "" where it has none of its own, but its file's name, or that of any contents."""
    named = info.title in ("", info.source, PurePosixPath(info.source).stem)
    return "" if named or _FILE_NAME.fullmatch(info.title) or _CONTENTS.fullmatch(info.title) else info.title


def follow_ups(
    citations: Sequence[Citation], sections: SectionStore, *, without: Collection[str] = ()
) -> list[str]:
    """Up to three questions that the sections below, beside and near the cited ones answer.

    None that is among those `without`, whatever the case of its letters, for a section that is cited itself,
    whose heading says nothing alone, or whose document is gone.
    """
    cited = {(citation.source, tuple(citation.heading_path)) for citation in citations}
    questions: dict[str, None] = {}
    for citation in citations:
        for section in _around(citation, sections):
            if (citation.source, _path(section)) not in cited and _is_telling(section):
                questions[_instruction(section) or _definition(section) or _about(section)] = None
    known = {"", *(question.casefold() for question in without)}
    new = [question for question in questions if question.casefold() not in known]
    return _by_form(new[:NEARBY])[:FOLLOW_UPS]


def _by_form(questions: Iterable[str]) -> list[str]:
    """The same questions, such as begin with different words in turn."""
    forms: dict[str, list[str]] = {}
    for question in questions:
        forms.setdefault(" ".join(question.split()[:2]), []).append(question)
    return _in_turn(list(forms.values()))


def _in_turn(lists: Sequence[Sequence[str]]) -> list[str]:
    """The first of each, the second of each, and so on."""
    return [question for row in zip_longest(*lists) for question in row if question]


def _about(section: StoredNode) -> str:
    """A question of a heading that names something; "" of one word or of half a sentence ("If it fails")."""
    heading = _heading(section)
    words = heading.split()
    if len(words) < 2 or _CLAUSE.match(heading):
        return ""
    name = _lowered(heading)
    if code := _CODE.match(heading):
        return f"What does {code[1]} {'say' if code[2] else 'mean'}?"
    if noun := _NOUN_OF.fullmatch(heading):
        return f"What {'are' if _PLURAL.search(noun[1]) else 'is'} the {name}?"
    if words[0].lower() == "the" and not _JOINED.search(name):
        return f"What is {name}?"
    if len(words) <= 3 and _PLURAL.search(words[-1]) and not _JOINED.search(name):
        return f"What are {name}?"
    return f"What should I know about {name}?"


def _around(citation: Citation, sections: SectionStore) -> list[StoredNode]:
    """The sections below a cited one, those beside it, then the others, in the document's order."""
    try:
        found = sections.document(citation.source).sections
    except UnknownDocument:  # deleted since
        return []
    path = tuple(citation.heading_path)
    below = [
        section
        for section in found
        if len(_path(section)) > len(path) and _path(section)[: len(path)] == path
    ]
    beside = [section for section in found if len(path) > 1 and _path(section)[:-1] == path[:-1]]
    return [*below, *beside, *found]


def _path(section: StoredNode) -> tuple[str, ...]:
    return tuple(section.metadata.get("heading_path") or ())


def _spread(questions: Sequence[str]) -> Iterator[str]:
    """All of them, beginning with some that lie apart."""
    step = max(1, len(questions) // QUESTIONS)
    yield from questions[::step]
    yield from questions


def _heading(section: StoredNode) -> str:
    path = section.metadata.get("heading_path") or [""]
    return re.sub(r"[`*_]|<[^>]*>", "", path[-1]).strip().rstrip(".:")


def _is_telling(section: StoredNode) -> bool:
    """False for a section without a heading of its own, with a trivial one, or with next to no text."""
    heading = _heading(section)
    return (
        len(section.text) >= LEAST_CHARACTERS
        and 1 <= len(heading.split()) <= 7
        and heading.isprintable()
        and not re.search(r"[{}\[\]|]|^\W|^\d", heading)
        and not _TRIVIAL.search(heading)
        and not _FILE_NAME.fullmatch(heading)
    )


def _definition(section: StoredNode) -> str:
    """`What is the cabin fan?` where a sentence of "Cabin fan" begins with "The cabin fan is"; else ""."""
    heading = _heading(section)
    begins = rf"(?:^|[.!?]\s+|\n)((?:the|an?)\s+)?{re.escape(heading)}\s+(is|are)\s+(?!not\b)"
    found = re.search(begins, section.text, re.IGNORECASE)
    if not found or len(heading.split()) > 4:
        return ""
    article, verb = (found.group(1) or "").strip().lower(), found.group(2).lower()
    return " ".join(filter(None, [f"What {verb}", article, _lowered(heading)])) + "?"


def _instruction(section: StoredNode) -> str:
    """A question of a heading that is one, or that begins with a verb, as "Installing …"; else "".

    None of one with a comma: "Losing air, or a wrong instrument?" is no single thing to do.
    """
    heading = _heading(section)
    first, _, rest = heading.partition(" ")
    if heading.endswith("?"):
        return heading
    if "," in heading or any(rank(word) is None for word in re.findall(r"[a-z]+", heading.lower())):
        return ""
    if re.match(r"how to ", heading, re.IGNORECASE):
        return f"How do I {_lowered(heading[7:])}?"
    if rest and first.lower().endswith("ing") and (verb := _verb(first.lower())):
        return f"How do I {verb} {_lowered(rest)}?"
    return ""


def _verb(gerund: str) -> str:
    """The commonest English word of which it is the -ing form ("using" → "use"); "" where there is none."""
    if gerund in _NO_GERUNDS:
        return ""
    stem = gerund[:-3]
    bare = "" if _SHORT_STEM.fullmatch(stem) else stem
    forms: Iterable[str] = (bare, f"{stem}e", stem[:-1] if stem[-2:-1] == stem[-1:] else "")
    known = [(place, form) for form in forms if len(form) > 2 and (place := rank(form)) is not None]
    return min(known)[1] if known else ""


def _lowered(name: str) -> str:
    """A heading inside a sentence: its everyday words without the capitals of a title."""
    return re.sub(
        r"^A(?= )|\b[A-Z][a-z]+\b",
        lambda found: word if rank(word := found[0].lower()) is not None else found[0],
        name,
    )
