"""What the network sees: a question as it may be typed, the passage that answers it, three that do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from training.augment import hurried
from training.data import Data, Section

NEGATIVES = 3
HARD = 10  # the first negatives, of which two are drawn
BESIDE = 0.45  # how often the third stands beside the answer
WEAK_SHARES = ((0.12, 0.35), (0.3, 0.2), (1.0, 0.08))
"""How many examples are a heading and its section until this part of the training."""
OWN_HEADINGS = ((False, False), (True, True), (False, True))
OWN_HEADINGS_SHARES = (0.55, 0.17, 0.28)
"""Whether the answer and the others are shown with their own heading, which for the answer is the question.

Without both, only texts are compared; with both, headings count; without the first, an answer wins over
headings alone.
"""
HEADING_WORDS = range(2, 11)
WEAK_WORDS = 25
WITH_PARENT = 0.4  # of the headings, their parent's before them
LEAST_SECTIONS = 20  # of a repository, to draw from
DEV_SEED = 5


@dataclass(frozen=True, slots=True)
class Example:
    """A question and passages, of which the first answers it."""

    question: str
    passages: tuple[str, ...]


class Examples:
    """Draws examples from the repositories that are not held out; the same seed draws the same."""

    def __init__(self, data: Data, random: Random) -> None:
        self._data = data
        self._random = random
        held_out = data.held_out()
        self._usable = [
            number for number in data.negatives if data.repository(data.questions[number]) not in held_out
        ]
        self._of_repository: dict[str, list[int]] = defaultdict(list)
        for number, section in enumerate(data.sections):
            if section.repository not in held_out and _is_weak_pair(section):
                self._of_repository[section.repository].append(number)
        self._weak = [
            number
            for numbers in self._of_repository.values()
            if len(numbers) > LEAST_SECTIONS
            for number in numbers
        ]
        self._asked: dict[str, list[str]] = defaultdict(list)
        for number in self._usable:
            question = data.questions[number]
            self._asked[data.repository(question)].append(question.text)
        self._left: list[int] = []
        if not self._usable or not self._weak:
            raise SystemExit("No repository with questions and sections is left to train on: mine more.")

    def __len__(self) -> int:
        """How many questions one pass has."""
        return len(self._usable)

    def draw(self, number: int, *, progress: float) -> list[Example]:
        """Some examples, for a training that is `progress` (0..1) done."""
        weak = next(share for end, share in WEAK_SHARES if progress <= end)
        return [self._heading() if self._random.random() < weak else self._next() for _ in range(number)]

    def _next(self) -> Example:
        """A question of the pass, with negatives drawn for this time."""
        if not self._left:
            self._left = self._random.sample(self._usable, len(self._usable))
        negatives = self._data.negatives[self._left.pop()]
        question = self._data.questions[negatives.question]
        hard = negatives.found[:HARD]
        others = self._random.sample(hard, min(NEGATIVES - 1, len(hard)))
        from_beside = negatives.beside and self._random.random() < BESIDE
        rest = [
            number
            for number in (negatives.beside if from_beside else negatives.found)
            if number not in others
        ]
        others.append(self._random.choice(rest or self._weak))
        ((answer, other),) = self._random.choices(OWN_HEADINGS, OWN_HEADINGS_SHARES)
        before = self._random.choice(self._asked[self._data.repository(question)])
        return Example(
            hurried(question.text, self._random, problem=question.kind == "problem", before=before),
            (
                self._data.sections[question.section].shown(own_heading=answer),
                *(self._data.sections[number].shown(own_heading=other) for number in others),
            ),
        )

    def _heading(self) -> Example:
        """A heading as the question, its section, and others of its file or repository."""
        number = self._random.choice(self._weak)
        section = self._data.sections[number]
        question = section.headings[-1]
        if len(section.headings) > 1 and self._random.random() < WITH_PARENT:
            question = f"{section.headings[-2]} {question}"
        candidates = self._of_repository[section.repository]
        near = [
            other
            for other in self._data.beside(number)
            if self._data.sections[other].headings not in ((), section.headings)
        ]
        others = self._random.sample(near, min(NEGATIVES - 1, len(near)))
        rest = [one for one in candidates if one not in (number, *others)]
        others += self._random.sample(rest, NEGATIVES - len(others))
        passages = (self._data.sections[one].shown(own_heading=False) for one in (number, *others))
        return Example(hurried(question, self._random), tuple(passages))


def _is_weak_pair(section: Section) -> bool:
    """Whether a heading may stand for a question that its text answers."""
    return (
        bool(section.headings)
        and len(section.headings[-1].split()) in HEADING_WORDS
        and len(section.text.split()) >= WEAK_WORDS
    )


def held_out_examples(data: Data, *, number: int, negatives: int = 7) -> list[Example]:
    """Examples of held-out repositories, always the same: every second question in lower case."""
    held_out = data.held_out()
    usable = [one for one in data.negatives if data.repository(data.questions[one]) in held_out]
    random = Random(DEV_SEED)
    examples = []
    for place, one in enumerate(random.sample(usable, min(number, len(usable)))):
        question, others = data.questions[one], _others(data, one, random, negatives)
        text = question.text if place % 2 else question.text.lower().rstrip("?")
        shown = [data.sections[question.section].shown(own_heading=False)]
        shown += [data.sections[other].shown(own_heading=place % 3 == 2) for other in others]
        examples.append(Example(text, tuple(shown)))
    return examples


def _others(data: Data, question: int, random: Random, number: int) -> Sequence[int]:
    """Hard negatives, and one that stands beside the answer."""
    known = data.negatives[question]
    first = known.found[:12]
    others = random.sample(first, min(number - 1, len(first)))
    others += [one for one in known.beside if one not in others][:1]
    return (others + [one for one in known.found if one not in others])[:number]
