"""Training examples: a question as people type it, the passage that answers it, and three that do not.

The wrong passages are found by BM25 in the same repository, because easy negatives teach nothing.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pipeline.analysis import analyse, lexical_terms
from pipeline.stores.embedded.lexical import open_searcher, search_index, write_index
from training.data import Data, Pair

FOUND = 30  # sections that BM25 finds for a question
HARD = 10  # most similar wrong passages; two of them are drawn
FEWEST = 5  # a question with fewer wrong passages is left out
SAME = 60  # letters and digits at the end of a passage; if another contains them, one copies the other
LOWER_CASE, KEYWORDS, SLIP = 0.3, 0.15, 0.2  # shares of the questions; a slip can come on top
SHORTEST_WITH_SLIP = 5  # letters of a word
LITTLE_WORDS = {
    "a", "an", "the", "of", "to", "in", "is", "it", "on", "at", "for", "from", "by", "with", "and", "or",
    "are", "was", "do", "does", "did", "can", "i", "we", "my", "you", "your", "this", "that", "how", "what",
    "why", "when", "where", "which", "who", "if",
}  # fmt: skip
"""Words that are left out when a question is typed as keywords; "not" and "no" stay."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question and several passages; only the first passage answers it."""

    question: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A pair, and wrong passages for its question, most similar to the question first (by BM25)."""

    pair: Pair
    wrong: tuple[str, ...]


def with_negatives(data: Data) -> Iterator[Asked]:
    """Yield each pair for which BM25 finds at least `FEWEST` wrong passages, repository by repository."""
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for pair in data.pairs:
        pairs[pair.repository].append(pair)
    for repository, own in pairs.items():
        sections = data.sections.get(repository, ())
        with tempfile.TemporaryDirectory(prefix="athena-negatives-") as scratch:
            index = Path(scratch) / "index"
            rows = ((number, 0, lexical_terms(text, {})) for number, text in enumerate(sections))
            write_index(index, rows)
            searcher = open_searcher(index)
            for pair in own:
                hits = search_index(searcher, analyse(pair.question), limit=FOUND, documents=None)
                wrong = tuple(_different([sections[hit.number] for hit in hits], pair))
                if len(wrong) >= FEWEST:
                    yield Asked(pair, wrong)


def _different(found: Sequence[str], pair: Pair) -> Iterator[str]:
    """Yield the passages of `found` that neither share the answer's text nor contain the question."""
    answer, question = _letters(pair.passage), _letters(pair.question)
    for text in found:
        letters = _letters(text)
        if answer[-SAME:] not in letters and letters[-SAME:] not in answer and question not in letters:
            yield text


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())


def draw(asked: Sequence[Asked], random: Random, *, count: int) -> list[Example]:
    """Draw `count` random examples, each with two of the ten hardest wrong passages and any third one."""
    examples = []
    for one in random.sample(asked, count):
        hard = random.sample(one.wrong[:HARD], 2)
        rest = [text for text in one.wrong if text not in hard]
        passages = (one.pair.passage, *hard, random.choice(rest))
        examples.append(Example(hurried(one.pair.question, random), passages))
    return examples


def held_out_examples(asked: Sequence[Asked], *, count: int) -> list[Example]:
    """Return at most `count` examples, the same ones each time: unchanged question, seven wrong passages."""
    usable = [one for one in asked if len(one.wrong) >= 7]
    chosen = Random(5).sample(usable, min(count, len(usable)))
    return [Example(one.pair.question, (one.pair.passage, *one.wrong[:7])) for one in chosen]


def hurried(question: str, random: Random) -> str:
    """Return the question as typed in a hurry: lower case, keywords or unchanged, at times with a slip."""
    how = random.random()
    if how < KEYWORDS:
        words = [word for word in question.lower().rstrip("?").split() if word not in LITTLE_WORDS]
        question = " ".join(words) if len(words) > 1 else question
    elif how < KEYWORDS + LOWER_CASE:
        question = question.lower().rstrip("?")
    if random.random() < SLIP:
        words = question.split()
        long = [n for n, word in enumerate(words) if len(word) >= SHORTEST_WITH_SLIP and word.isalpha()]
        if long:
            place = random.choice(long)
            words[place] = mistyped(words[place], random)
            question = " ".join(words)
    return question


def mistyped(word: str, random: Random) -> str:
    """Return a word of three or more letters with an inner one left out, doubled or swapped with the next."""
    place = random.randrange(1, len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    return random.choice(
        (before + after, before + letter * 2 + after, before + after[0] + letter + after[1:])
    )
