"""Forgotten words in stored turns, overwritten in place: a text keeps its length, so that spans stay valid.

Words are found as they were said, in other case, with other blanks or punctuation between them, and as JSON
or Markdown write them. A conversation in which they were said has them in other words, too: in the questions
that were made of a message and what was said before, each of their words goes; everywhere, what looks like
a number or a code. What the program itself wrote (ids, hashes, names of steps) is left as it is.

One pattern of all that a thousand memories say takes long on every text. To look which of their parts a text
has at all takes little of that, and leaves a pattern of a few: `Forms`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.answering.recollection import BLOCK, NAMED
from pipeline.stores.conversations import said_in, shown_title, title_of, told_as

CUT = re.compile(r"\W*(?:…|\.\.\.)\s*\Z")
MOST_CUT_WORDS = 40  # of a text that ends in "…": a title has fewer

MADE = frozenset(
    """
    name status mode verdict model by role kind finish_reason persona id turn_id conversation_id section_id
    node_id memory_id ids recalled related static graph added touched known replaced disputed untrusted
    secrets source heading_path file_hash quote_hash section_text quote paths preset
    bm25_sections bm25_sentences dense_sections dense_sentences ranking before after selected dropped
    parents members quotes
    sections nodes merged settings signals weights
    """.split()  # noqa: SIM905 (a list of words)
)
"""Keys of a stored answer whose values nobody typed: ids, names, ranks, and spans of documents."""

DERIVED = frozenset(
    {"condensed_question", "corrected", "hypothesis", "carried", "alternative", "beside", "words"}
)
DERIVED_IN_STEPS = frozenset({"question", "text"})
"""Keys of what was made of a question and the history."""

LEAST_WORD = 4  # characters of a word that goes from what was made of a question
LEAST_CODE = 4  # characters with a digit that go from everything in the conversation

GRAM = 4  # characters
FEW = 50  # forms that are quickly looked for as they are

_PART = re.compile(r"[^\W_]+")
_BETWEEN = r"(?:\\[nrtbf]|[\W_])+"  # also a line end as JSON in a text writes it


@dataclass(frozen=True, slots=True)
class Form:
    """A way of writing some words: a regular expression, and what a text that it matches has, folded."""

    expression: str
    has: tuple[str, ...]
    grams: frozenset[str]  # of what it has


@dataclass(frozen=True, slots=True)
class Forms:
    """Forms in the order in which they are tried; falsy where there are none."""

    forms: tuple[Form, ...] = ()

    def __len__(self) -> int:
        return len(self.forms)

    def within(self, text: str) -> Forms:
        """Those that can be in a text, or in a part of it."""
        there, forms = folded(text), self.forms
        if len(self) > FEW:
            grams = grams_of(there)
            forms = tuple(form for form in forms if form.grams <= grams)
        return Forms(tuple(form for form in forms if all(part in there for part in form.has)))

    def pattern(self) -> re.Pattern[str] | None:
        """A pattern for any of them; the id of a memory that is named stays, whatever it has of them."""
        if not self.forms:
            return None
        kept = f"(?P<kept>{NAMED.pattern})"
        return re.compile("|".join([kept, *(form.expression for form in self.forms)]), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Erasing:
    """Overwrites some words in texts; falsy where there are none."""

    forms: Forms
    codes: Forms  # what goes from everything in a conversation
    each: Forms  # what goes from what was made of a question
    parts: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, words: Sequence[str]) -> Erasing:
        """What overwrites these words; blank ones are left out."""
        kept = [said for said in dict.fromkeys(words) if said.strip()]
        spelled = {form for said in kept for form in _spelled(said)}
        literal = {form for one in spelled for form in (one, *_json(one))}
        loose = {found for one in spelled if (found := tuple(_PART.findall(one)))}
        parts: tuple[tuple[str, ...], ...] = tuple(tuple(_PART.findall(said)) for said in kept)
        each = sorted({part for said in parts for part in said})
        return cls(
            _longest_first(
                [of_parts(re.escape(form), [form]) for form in literal],
                [of_parts(_BETWEEN.join(map(re.escape, found)), found) for found in loose],
            ),
            Forms(tuple(_alone(word) for word in each if len(word) >= LEAST_CODE and _has_digit(word))),
            Forms(tuple(_alone(word) for word in each if len(word) >= LEAST_WORD or _has_digit(word))),
            parts,
        )

    def __bool__(self) -> bool:
        return bool(self.forms)

    def is_in(self, stored: str) -> bool:
        """Whether a text, or JSON of texts, has the words."""
        pattern = self.forms.within(stored).pattern()
        return pattern is not None and any(not found["kept"] for found in pattern.finditer(stored))

    def text(self, text: str) -> str:
        """A text of a conversation that has the words, with them overwritten; as long as before."""
        return _overwritten(self.codes, self._cut_short(_overwritten(self.forms, text)))

    def title(self, title: str, questions: Sequence[str]) -> str:
        """A conversation's title: made again where it was made of one of the questions."""
        for question in questions:
            if title == title_of(question):
                return title_of(self.text(question))
        return shown_title(self.text(title))

    def answer(self, stored: str) -> str:
        """An answer as it is stored, with the words overwritten in every text that somebody wrote."""
        value = json.loads(stored)
        there = "\n".join(_texts(value))
        few = replace(
            self, forms=self.forms.within(there), codes=self.codes.within(there), each=self.each.within(there)
        )
        return json.dumps(few._value(value), ensure_ascii=False)

    def turn(
        self, *, question: str, answer: str, feedback_text: str, told: str | None
    ) -> dict[str, str | None]:
        """The texts of a turn as it is stored, with the words overwritten; and what it is found by then."""
        answer = self.answer(answer)
        question = self.text(question)
        text = json.loads(answer)["text"]
        return {
            "question": question,
            "answer": answer,
            "feedback_text": self.text(feedback_text),
            "said": said_in(question, text),
            "told": told and told_as(text),
        }

    def _value(self, value: Any, *, in_step: bool = False, derived: bool = False) -> Any:
        match value:
            case str():
                return _overwritten(self.each, self.text(value)) if derived else self.text(value)
            case list():
                return [self._value(item, in_step=in_step, derived=derived) for item in value]
            case dict():
                in_step = (in_step or "name" in value) and "role" not in value
                return {
                    key: item
                    if key in MADE
                    else self._value(
                        item,
                        in_step=in_step,
                        derived=key in DERIVED or (in_step and key in DERIVED_IN_STEPS),
                    )
                    for key, item in value.items()
                }
        return value

    def _cut_short(self, text: str) -> str:
        """Overwrite also the beginning of the words where the text breaks off there."""
        end = CUT.search(text)
        if end is None:
            return text
        said = text[: end.start()]
        there = folded(said)
        for parts in self.parts:
            if not parts or folded(parts[0]) not in there:
                continue
            for count in range(min(len(parts), MOST_CUT_WORDS), 0, -1):
                if not there.endswith(folded(parts[count - 1])):
                    continue
                begun = _BETWEEN.join(map(re.escape, parts[:count]))
                found = re.compile(rf"(?<!\w){begun}\Z", re.IGNORECASE).search(said)
                if found:
                    return text[: found.start()] + BLOCK * len(found[0]) + text[end.start() :]
        return text


def written_forms(words: Sequence[str]) -> list[str]:
    """The words as they may stand in a file: as they are, and as JSON writes them."""
    kept = [said for said in dict.fromkeys(words) if said.strip()]
    return list(dict.fromkeys(form for said in kept for form in (said, *_json(said))))


def _longest_first(*kinds: list[Form]) -> Forms:
    """The forms, kind by kind: of two that begin at one place, the longer one is overwritten."""
    return Forms(
        tuple(
            form
            for kind in kinds
            for form in sorted(kind, key=lambda form: (-len(form.expression), form.expression))
        )
    )


def _overwritten(forms: Forms, text: str) -> str:
    few = forms if len(forms) <= FEW else forms.within(text)
    pattern = few.pattern()
    if pattern is None:
        return text
    return pattern.sub(lambda found: found["kept"] or BLOCK * len(found[0]), text)


def _alone(word: str) -> Form:
    return of_parts(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", [word])


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value of JSON."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _spelled(said: str) -> set[str]:
    return {said, said.strip(), *(unicodedata.normalize(form, said) for form in ("NFC", "NFD"))}


def _json(said: str) -> tuple[str, str]:
    return json.dumps(said, ensure_ascii=False)[1:-1], json.dumps(said)[1:-1]


def folded(text: str) -> str:
    """A text in which all letters are one that `re.IGNORECASE` takes for one."""
    return text.replace("İ", "i").replace("ı", "i").casefold()


def of_parts(expression: str, parts: Iterable[str]) -> Form:
    """A form that has these parts."""
    has = tuple(dict.fromkeys(map(folded, parts)))
    return Form(expression, has, frozenset().union(*map(grams_of, has)))


def grams_of(text: str) -> set[str]:
    """What stands in a text, `GRAM` characters long."""
    return {text[start : start + GRAM] for start in range(len(text) - GRAM + 1)}
