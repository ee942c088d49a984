"""The rules of language, marks and addresses: of each a name, what it is given, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.analysis import analyse
from pipeline.answering.citations import escaped_markers, renamed_markers, sentences_of
from pipeline.answering.exact_facts import facts_of, in_digits, missing_numbers
from pipeline.answering.leaf_chances import wants_fix
from pipeline.answering.overviews import topic_of
from pipeline.answering.polarity import inverted, negations, opposites
from pipeline.answering.prompts import number_sources
from pipeline.answering.section_blocks import form_of
from pipeline.answering.verification import states_something
from pipeline.answering.written_answers import joined, text_so_far
from pipeline.asking.follow_ups import by_rules, leans
from pipeline.asking.kinds import asked_for, sides_of
from pipeline.asking.language import language_of
from pipeline.asking.small_talk import small_talk
from pipeline.finding.answerability import names_unknown_code
from pipeline.finding.definitions import defines
from pipeline.finding.links import CODE, anchor
from pipeline.finding.verdict_signals import focus_terms, lacks_fact
from pipeline.markup.readable import readable, readable_block, readers_markdown
from pipeline.messages import Message
from pipeline.redaction import without_password
from pipeline.terms import content_terms
from readers.cutting import SentenceCutter
from readers.punkt import SentenceSplitter
from readers.sections import read_sections
from tests.pipeline.answering.leaves import section_leaves
from tests.pipeline.answering.test_citations import cited
from tests.pipeline.answering.test_verification import checked
from tests.pipeline.answering.test_written_answers import ANSWER
from tests.pipeline.asking.test_spelling import corrected
from tests.pipeline.passages import make_passage
from tests.readers.oracle import leaves_of, read, texts

EXAMPLES = [
    tuple(cell.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t") for cell in line.split("\t"))
    for line in Path(__file__)
    .with_name("language_rules.tsv")
    .read_text(encoding="utf-8")
    .removesuffix("\n")
    .split("\n")
]
SPLITTER = SentenceSplitter()
TOPIC = "The LN2 tank shows OFFLINE, what can be the reason"
HISTORY = [Message("user", f"{TOPIC}?"), Message("assistant", "Check the breaker of the tank heater.")]


def condensed(message: str) -> str:
    found = by_rules(HISTORY, message)
    if (found.question, found.carried, found.by) == (f"{TOPIC}: {message}", TOPIC, "rules"):
        return "with the topic"
    return found.by if (found.question, found.carried) == (message, "") else repr(found)


def defined(question: str, markdown: str) -> str:
    """How well the last leaf of a section defines what is asked for."""
    section = read_sections(markdown, source="file.md")[-1]
    leaf = SentenceCutter(lambda text: len(text.split()), max_tokens=60).cut(section)[-1]
    return str(defines(leaf.text, frozenset(content_terms(question))) or "")


def resolved(text: str) -> str:
    """An answer with its markers resolved, and the sections that they stand for."""
    found = cited(text)
    assert [citation.marker for citation in found.citations] == list(range(1, len(found.citations) + 1))
    return pieces(found.text, *(citation.source.removesuffix(".md") for citation in found.citations))


def leaves(text: str) -> str:
    return pieces(*(f"{leaf.metadata['kind']}: {leaf.text}" for leaf in leaves_of(text)))


def outline(text: str) -> str:
    """The sections of a text, each under the path of its headings."""
    return pieces(
        *(f"{' > '.join(section.metadata['heading_path'])}: {section.text}" for section in read(text))
    )


def missing(sentence: str) -> str:
    """What an answer's sentence says beyond the passages."""
    (support,) = checked(sentence)
    assert support.supported is not bool(support.missing)
    assert support.markers == sentences_of(sentence)[0].numbers
    return ", ".join(support.missing) or "nothing"


def rest(said: str, more: str) -> str:
    """What an answer is that broke off and goes on."""
    text = text_so_far(replace(ANSWER, text=said), ())
    return "".join([text, *joined(text, [more[:3], more[3:]])])


def copied(said: str) -> str:
    """What a model cites that copies a document's line as it was given it."""
    (source,) = number_sources([make_passage("s", text=said, merged=True)], budget=500, word="w")
    line = source.text.splitlines()[2].rpartition(". ")[2]
    return pieces(*(str(piece.numbers) for piece in sentences_of(line)))


def unknown(question: str, text: str, heading: str = "Alarms") -> str:
    return yes(names_unknown_code(question, [make_passage("a", text=text, heading_path=("Codes", heading))]))


def sentences(text: str) -> str:
    """The sentences of prose, which are the same where each begins a line."""
    said = split(text)
    return pieces(*said) if split("\n".join(said)) == said else repr(said)


def split(text: str) -> list[str]:
    ends = list(SPLITTER.ends(text))
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


def seen(block: str) -> str:
    """A block as readers see it, which is the same where it is a whole text."""
    return readable_block(block) if readable_block(block) == readable(block) else repr(readable(block))


def pieces(*texts: str) -> str:
    return " ‖ ".join(texts)


def yes(holds: bool) -> str:
    return "yes" if holds else "no"


RULES: Mapping[str, Callable[..., str]] = {
    "in digits": in_digits,
    "missing numbers": lambda stated, given: ", ".join(missing_numbers(facts_of(stated), facts_of(given))),
    "negations": lambda text: str(negations(text)),
    "inverted": lambda sentence, span: ", ".join(inverted(sentence, [span])),
    "opposites": lambda sentence, span, *elsewhere: ", ".join(
        opposites(sentence, [span], elsewhere=[frozenset(words.split()) for words in elsewhere])
    ),
    "leans": lambda message: yes(leans(message)),
    "condensed": condensed,
    "sides": lambda question: ", ".join(sides_of(question) or ()),
    "asked for": asked_for,
    "language": lambda text: language_of(text) or "",
    "wants a fix": lambda question: yes(wants_fix(question, asked_for(question))),
    "escaped": escaped_markers,
    "small talk": lambda message: small_talk(message) or "",
    "defines": defined,
    "terms": lambda text: " ".join(analyse(text)),
    "lacks a fact": lambda question, *texts: yes(lacks_fact(question, texts)),
    "focus": lambda question: " ".join(focus_terms(question)),
    "spelling": corrected,
    "codes": lambda text: ", ".join(CODE.findall(text)),
    "anchor": anchor,
    "topic": topic_of,
    "points back": lambda text: yes(form_of(section_leaves(text).leaves[0]).back),
    "label": lambda text: yes(form_of(section_leaves(text).leaves[0]).label),
    "sentences": sentences,
    "sentences of an answer": lambda text: pieces(
        *(text[piece.start : piece.end] for piece in sentences_of(text))
    ),
    "markers": resolved,
    "states nothing": lambda text: yes(not states_something(text)),
    "renamed": lambda text: renamed_markers(text, lambda number: f"[^{number}]"),
    "cited by who copies": copied,
    "unknown code": unknown,
    "leaves": leaves,
    "divided": lambda text, most: pieces(*texts(text, max_tokens=int(most))),
    "content terms": lambda text: " ".join(content_terms(text)),
    "outline": outline,
    "missing": missing,
    "joined": rest,
    "without password": without_password,
    "readable block": seen,
    "readable": readable,
    "readers' Markdown": readers_markdown,
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_of_each_example_what_it_should(rule: str) -> None:
    examples = [(given, expected) for name, *given, expected in EXAMPLES if name == rule]
    wrong = [
        (given, expected, said) for given, expected in examples if (said := RULES[rule](*given)) != expected
    ]
    assert len(examples) > 2
    assert wrong == []
