"""Questions that are corrected rightly, wrongly, or not: `python -m evals.calibration.spelling`.

`evals/data/spelling/questions.jsonl` names the folder of documents that each question is about; INDEX is a
data folder with an index of it. A question with a misspelt word has what it should become in `corrected`; one
without is to be left as it is. Nothing is chosen on the half that is held out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from typer import echo

from evals.datasets import held_out

if TYPE_CHECKING:
    from pipeline.stores.base import SentenceIndex

QUESTIONS = Path(__file__).parents[1] / "data" / "spelling" / "questions.jsonl"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question."""

    question: str
    wanted: str  # the question itself where there is nothing to correct
    got: str
    held_out: bool
    ms: float

    @property
    def misspelt(self) -> bool:
        """Whether there is anything to correct."""
        return self.wanted != self.question


def outcomes(index: SentenceIndex, corpus: str, questions: Path = QUESTIONS) -> Iterator[Outcome]:
    """Each question about a corpus, corrected by its index."""
    from pipeline.asking.spelling import misspelt, with_words

    for line in questions.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["corpus"] != corpus:
            continue
        started = time.perf_counter()
        got = with_words(row["text"], misspelt(row["text"], index))
        ms = (time.perf_counter() - started) * 1000
        yield Outcome(row["text"], row["corrected"] or row["text"], got, held_out(row["_id"]), ms)


def figures(found: list[Outcome]) -> Mapping[str, str]:
    """What is printed of one half."""
    misspelt = [item for item in found if item.misspelt]
    others = [item for item in found if not item.misspelt]
    return {
        "misspelt: corrected rightly": _of(sum(item.got == item.wanted for item in misspelt), misspelt),
        "misspelt: left": _of(sum(item.got == item.question for item in misspelt), misspelt),
        "misspelt: changed otherwise": _of(
            sum(item.got not in (item.wanted, item.question) for item in misspelt), misspelt
        ),
        "not misspelt: changed": _of(sum(item.got != item.question for item in others), others),
    }


def _of(number: int, items: list[Outcome]) -> str:
    return f"{number} of {len(items)}"


def main() -> None:
    """Correct every question, and print both halves side by side."""
    from athena import load_settings, open_athena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("indexes", nargs="+", metavar="FOLDER=INDEX")
    found: list[Outcome] = []
    for pair in parser.parse_args().indexes:
        corpus, _, folder = pair.partition("=")
        athena = open_athena(load_settings(llm="none", data_dir=Path(folder)))
        found += outcomes(athena.store.sentences, corpus)
        athena.close()
    first = figures([item for item in found if not item.held_out])
    second = figures([item for item in found if item.held_out])
    echo("| | to choose on | held out |\n|---|--:|--:|")
    for name, figure in first.items():
        echo(f"| {name} | {figure} | {second[name]} |")
    for item in found:
        if not item.held_out and item.got != item.wanted:
            echo(f"{item.question} → {item.got} (wanted: {item.wanted})")


if __name__ == "__main__":
    main()
