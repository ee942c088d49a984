"""The weights of the verdict on what was said: fitted on questions that turns answer, and on others.

`python -m evals.calibration.turn_verdicts` fits them on the `dev` halves of `evals/data/memory` and prints
them, with the share of each kind of question that reaches a probability: by weights that were fitted without
the question's own fifth. What no turn answers are

- `swapped`: a question of one speaker, asked of the other one;
- `elsewhere`: a question of another conversation, with the names of this one;
- `never said` and `unrelated`: what is labelled so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from pathlib import Path

import numpy as np

from evals.calibration.logistic import fit, held_out
from evals.calibration.turn_weights import CachedEncoder
from evals.conversations import Conversation, load_conversations, seconds, spoken
from evals.talks import Talk, has_words, load_talks
from memory.turn_index import Turn, TurnIndex
from memory.turn_search import LEADING, FoundTurns, Signs, look_up
from pipeline.models.embedding import OnnxEncoder

DATA = Path(__file__).parents[1] / "data" / "memory"
CONVERSATIONS = ("locomo/dev.json", "beam/dev")
TALKS = ("talks/dev.json", "talks/strangers-dev.json")
NAMES = ("similarity", "side")
COUNTS: Mapping[str, float] = {
    "answered": 1.0, "swapped": 0.7, "elsewhere": 0.4, "never said": 2.0, "unrelated": 0.25,
}  # fmt: skip
"""How much a question of each kind counts: there are many of some."""
PROBABILITIES = (0.05, 0.1, 0.2, 0.3, 0.45, 0.5, 0.6, 0.8)


@dataclass(frozen=True, slots=True)
class Example:
    """One question of a kind, with what its search shows."""

    kind: str
    signs: Signs


def of_conversations(conversations: Sequence[Conversation], encoder: CachedEncoder) -> Iterator[Example]:
    """The questions of conversations, of their own and of the others."""
    unrelated = json.loads((DATA / "injections.json").read_text(encoding="utf-8"))["unrelated"]
    indexes = [TurnIndex(spoken(held.turns, embed=encoder.encode_passages)) for held in conversations]
    for held, index in zip(conversations, indexes, strict=True):
        for asked in held.asked:
            yield _example("never said" if asked.never_said else "answered", index, asked.question, encoder)
            if not asked.never_said and (
                swapped := _renamed(asked.question, _names(held), _names(held)[::-1])
            ):
                yield _example("swapped", index, swapped, encoder)
        for message in unrelated:
            yield _example("unrelated", index, message, encoder)
    for (held, index), (other, _) in permutations(zip(conversations, indexes, strict=True), 2):
        if len(_names(held)) == len(_names(other)):
            for asked in other.asked:
                question = _renamed(asked.question, _names(other), _names(held)) or asked.question
                yield _example("elsewhere", index, question, encoder)


def of_talks(talks: Sequence[Talk], encoder: CachedEncoder) -> Iterator[Example]:
    """The questions and the unrelated messages of talks; without those whose answer is not among the best."""
    for talk in talks:
        index, session = TurnIndex(), 1
        for number, step in enumerate(talk.steps):
            session = step.session or session
            if step.say:
                said = Turn(id=str(number), session=str(session), text=step.say, at=seconds(step.at))
                index.add(spoken([said], embed=encoder.encode_passages))
            elif question := step.ask or step.unrelated:
                found = look_up(index, question, encoder=encoder)  # type: ignore[arg-type]
                kind = "unrelated" if step.unrelated else "never said" if step.never_said else "answered"
                if found.signs and (kind != "answered" or _holds(found, step.any)):
                    yield Example(kind, found.signs)


def _holds(found: FoundTurns, answers: Sequence[Sequence[str]]) -> bool:
    text = " ".join(item.turn.text for item in found.found[:LEADING])
    return any(has_words(text, words) for words in answers)


def _example(kind: str, index: TurnIndex, question: str, encoder: CachedEncoder) -> Example:
    found = look_up(index, question, encoder=encoder)  # type: ignore[arg-type]
    assert found.signs is not None  # noqa: S101  (a conversation has turns)
    return Example(kind, found.signs)


def _names(held: Conversation) -> list[str]:
    return sorted({turn.speaker for turn in held.turns if turn.speaker})


def _renamed(question: str, names: Sequence[str], others: Sequence[str]) -> str:
    """A question with other names; "" where it has not just one of them."""
    to = dict(zip(names, others, strict=True))
    named = [name for name in names if re.search(rf"\b{re.escape(name)}\b", question)]
    return re.sub(rf"\b{re.escape(named[0])}\b", to[named[0]], question) if len(named) == 1 else ""


def main() -> None:
    """Print the weights and the shares."""
    encoder = CachedEncoder(OnnxEncoder())
    examples = [
        *(
            one
            for path in CONVERSATIONS
            for one in of_conversations(load_conversations(DATA / path), encoder)
        ),
        *(one for path in TALKS for one in of_talks(load_talks(DATA / path), encoder)),
    ]
    signs = np.array([[asdict(item.signs)[name] for name in NAMES] for item in examples])
    labels = np.array([float(item.kind == "answered") for item in examples])
    counts = np.array([COUNTS[item.kind] for item in examples])
    weights, intercept = fit(signs, labels, weights=counts)
    print(", ".join(f"{name} {weight:.2f}" for name, weight in zip(NAMES, weights, strict=True)))
    print(f"intercept {intercept:.2f}")
    probabilities = held_out(signs, labels, weights=counts)
    for kind in COUNTS:
        own = probabilities[[item.kind == kind for item in examples]]
        shares = "  ".join(f"{least:.2f}: {np.mean(own >= least):.2f}" for least in PROBABILITIES)
        print(f"{kind:12}{len(own):5}  {shares}")


if __name__ == "__main__":
    main()
