"""How condensing by rules was measured: `python -m evals.calibration.condensing DATA`.

Two tables. Against people's rewrites of conversations' last questions (MTRAG): precision, recall and F1 of
the content words, and how often a question that people left as it was is left alone. Against relevance
judgements (MTRAG-UN, the questions with a history): nDCG@10 of what each way of condensing finds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from typer import echo

from evals.datasets import Question, default_folder, load_corpus, load_qrels, load_queries
from evals.metrics import mean, ndcg_at
from evals.runs.indexing import index_corpus
from pipeline.answering.condensing import by_rules
from pipeline.errors import DatasetError
from pipeline.messages import Message
from pipeline.stores.embedded import EmbeddedStore
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from athena import Athena

DEPTH = 10
USER = "|user|:"

Way = Callable[[Sequence[Message], str], str]  # history and last message in, a question out


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One conversation's last question, the earlier ones, and how a person would ask it alone."""

    history: tuple[Message, ...]
    message: str
    rewritten: str

    @property
    def needed(self) -> bool:
        """True where the person put in a content word that the message does not have."""
        return not set(content_terms(self.rewritten)) <= set(content_terms(self.message))


@dataclass(frozen=True, slots=True)
class Overlap:
    """Content words of a question against a person's."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def last_turn(history: Sequence[Message], message: str) -> str:  # noqa: ARG001
    """The message as it is."""
    return message


def rules(history: Sequence[Message], message: str) -> str:
    """What Athena searches for without a language model."""
    return by_rules(history, message).question


def previous_and_last(history: Sequence[Message], message: str) -> str:
    """The message after the question before it."""
    return " ".join([*[said.text for said in history if said.role == "user"][-1:], message])


def all_turns(history: Sequence[Message], message: str) -> str:
    """The message after all earlier questions."""
    return " ".join([*[said.text for said in history if said.role == "user"], message])


WAYS: dict[str, Way] = {
    "rules": rules,
    "last turn": last_turn,
    "previous + last": previous_and_last,
    "all turns": all_turns,
}


def load_rewrites(folder: Path) -> list[Rewrite]:
    """MTRAG's rewrites of one domain; raises `DatasetError`."""
    name = folder.name
    asked = _texts(folder / f"{name}_questions.jsonl")
    rewritten = _texts(folder / f"{name}_rewrite.jsonl")
    found = []
    for key, text in asked.items():
        *earlier, message = [part.strip() for part in text.split(USER) if part.strip()]
        if earlier and key in rewritten:
            history = tuple(Message("user", part) for part in earlier)
            found.append(Rewrite(history, message, rewritten[key].removeprefix(USER).strip()))
    return found


def _texts(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DatasetError(f"Cannot read '{path}': {error.strerror}.", "Give MTRAG's folder.") from error
    rows = [json.loads(line) for line in lines if line.strip()]
    return {row["_id"]: row["text"] for row in rows}


def overlap(question: str, rewritten: str) -> Overlap:
    """Precision and recall of the question's content words."""
    ours, theirs = set(content_terms(question)), set(content_terms(rewritten))
    shared = len(ours & theirs)
    return Overlap(shared / len(ours) if ours else 0.0, shared / len(theirs) if theirs else 0.0)


def retrieval_scores(athena: Athena, folder: Path, scratch: Path) -> Iterator[tuple[str, int, float]]:
    """Each way's nDCG@10 over the questions with a history, and on how many it changed the message."""
    store = EmbeddedStore(scratch / folder.name)
    try:
        cutter, encoder = athena.sentence_cutter(), athena.encoder
        indexed = index_corpus(
            load_corpus(folder), store=store, cutter=cutter, encoder=encoder, manifest=athena.manifest
        )
        hybrid_search = athena.hybrid_search_over(store, None)
        options = athena.options.but(top_k=DEPTH, context_tokens=10**9)
        qrels = load_qrels(folder, "test")
        queries = [query for query in load_queries(folder) if query.history and query.id in qrels]
        for name, way in WAYS.items():
            gains = []
            asked = [way(_history(query), query.text) for query in queries]
            for query, question in zip(queries, asked, strict=True):
                passages = hybrid_search.search(question, options=options).passages
                ranking = [indexed.names[passage.section.node_id] for passage in passages]
                gains.append(ndcg_at(ranking, qrels[query.id], DEPTH))
            changed = sum(a != query.text for a, query in zip(asked, queries, strict=True))
            yield name, changed, mean(gains)
    finally:
        store.close()


def _history(query: Question) -> list[Message]:
    return [Message(turn.role, turn.text) for turn in query.history]


def print_rewrites(rewrites: Sequence[Rewrite]) -> None:
    """The first table."""
    alone = [item for item in rewrites if not item.needed]
    needy = [item for item in rewrites if item.needed]
    echo(f"{len(rewrites)} follow-ups; people added a content word to {len(needy)}\n")
    echo("| | precision | recall | F1 | F1 where needed | left alone where not needed |")
    echo("|---|---|---|---|---|---|")
    for name, way in WAYS.items():
        found = [overlap(way(item.history, item.message), item.rewritten) for item in rewrites]
        needed = [overlap(way(item.history, item.message), item.rewritten).f1 for item in needy]
        untouched = mean([float(way(item.history, item.message) == item.message) for item in alone])
        echo(
            f"| {name} | {mean([o.precision for o in found]):.3f} | {mean([o.recall for o in found]):.3f} | "
            f"{mean([o.f1 for o in found]):.3f} | {mean(needed):.3f} | {untouched:.3f} |"
        )


def main() -> None:
    """Parse, measure, print."""
    from athena import load_settings, open_athena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=default_folder())
    parser.add_argument(
        "--rewrites-only", action="store_true", help="skip the retrieval, which takes minutes"
    )
    arguments = parser.parse_args()
    folders = sorted(
        path for path in (arguments.data / "mtrag" / "mtrag_rewrites").iterdir() if path.is_dir()
    )
    print_rewrites([rewrite for folder in folders for rewrite in load_rewrites(folder)])
    if arguments.rewrites_only:
        return
    echo(f"\n| | changed | nDCG@{DEPTH} |\n|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="athena-condense-") as folder:
        scratch = Path(folder)
        athena = open_athena(load_settings(llm="none", data_dir=scratch / "none"))
        pooled = arguments.data / "mtrag" / "mtragun_pooled"
        for name, changed, score in retrieval_scores(athena, pooled, scratch):
            echo(f"| {name} | {changed} | {score:.4f} |")


if __name__ == "__main__":
    main()
