"""How condensing by rules was measured: `python -m evals.calibration.condensing DATA`.

Against people's rewrites of conversations' last questions (MTRAG): precision, recall and F1 of the content
words, and how often a question that people left as it was is left alone. Against relevance judgements:
nDCG@10 of what each way of condensing finds, for our own dialogues, for MTRAG-UN's questions with a history,
and for those of MTRAG whose passages are in MTRAG-UN's pool, apart those that people left as they were asked.
Conversations are in halves by the hash of their id: choices are made on "dev".
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from typer import echo

from evals.datasets import Question, default_folder, held_out, load_corpus, load_qrels, load_queries
from evals.metrics import mean, ndcg_at
from evals.runs.indexing import index_corpus, section_names
from pipeline.answering.condensing import Condensed, by_rules
from pipeline.asking.leaning import leans
from pipeline.errors import DatasetError
from pipeline.messages import Message
from pipeline.stores.embedded import EmbeddedStore
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from pipeline.retrieve import HybridSearch

DEPTH = 10
USER = "|user|:"
DIALOGUES = Path(__file__).parents[1] / "data" / "dialogues"
FIRST_QUESTIONS = [
    DIALOGUES.parent / name
    for name in ("manuals", *(f"strangers/{of}/dev" for of in ("manuals", "rust-book", "opensearch-docs")))
]
MANUALS = Path(__file__).parents[2] / "docs_corpus"

Way = Callable[[Sequence[Message], str], Condensed]  # history and last message in, a question out


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One conversation's last question, the earlier ones, and how a person would ask it alone."""

    id: str
    history: tuple[Message, ...]
    message: str
    rewritten: str
    gold: tuple[str, ...] = ()  # ids of the passages that answer it

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


def last_turn(history: Sequence[Message], message: str) -> Condensed:  # noqa: ARG001
    """The message as it is."""
    return Condensed(message)


def rules_alone(history: Sequence[Message], message: str) -> Condensed:
    """What Athena makes of it without a language model, with no second reading beside it."""
    return replace(by_rules(history, message), beside=None)


def previous_and_last(history: Sequence[Message], message: str) -> Condensed:
    """The message after the question before it."""
    return Condensed(" ".join([*[said.text for said in history if said.role == "user"][-1:], message]))


def all_turns(history: Sequence[Message], message: str) -> Condensed:
    """The message after all earlier questions."""
    return Condensed(" ".join([*[said.text for said in history if said.role == "user"], message]))


WAYS: dict[str, Way] = {
    "rules, both readings": by_rules,
    "rules, one reading": rules_alone,
    "last turn": last_turn,
    "previous + last": previous_and_last,
    "all turns": all_turns,
}


def load_rewrites(folder: Path) -> list[Rewrite]:
    """MTRAG's rewrites of one domain; raises `DatasetError`."""
    name = folder.name
    asked = _texts(folder / f"{name}_questions.jsonl")
    rewritten = _texts(folder / f"{name}_rewrite.jsonl")
    gold = _gold(folder / "qrels_dev.tsv")
    found = []
    for key, text in asked.items():
        *earlier, message = [part.strip() for part in text.split(USER) if part.strip()]
        if earlier and key in rewritten:
            history = tuple(Message("user", part) for part in earlier)
            alone = rewritten[key].removeprefix(USER).strip()
            found.append(Rewrite(key, history, message, alone, tuple(gold.get(key, ()))))
    return found


def _texts(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DatasetError(f"Cannot read '{path}': {error.strerror}.", "Give MTRAG's folder.") from error
    rows = [json.loads(line) for line in lines if line.strip()]
    return {row["_id"]: row["text"] for row in rows}


def _gold(path: Path) -> dict[str, list[str]]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    gold: dict[str, list[str]] = {}
    for key, passage, score in rows:
        if int(score) > 0:
            gold.setdefault(key, []).append(passage)
    return gold


def overlap(question: str, rewritten: str) -> Overlap:
    """Precision and recall of the question's content words."""
    ours, theirs = set(content_terms(question)), set(content_terms(rewritten))
    shared = len(ours & theirs)
    return Overlap(shared / len(ours) if ours else 0.0, shared / len(theirs) if theirs else 0.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """One judged question of a group, in a conversation."""

    group: str
    history: Sequence[Message]
    message: str
    gold: Mapping[str, int]
    rewritten: str = ""  # by a person, where there is that


def pooled(folder: Path, rewrites: Sequence[Rewrite], known: Collection[str]) -> Iterator[Asked]:
    """MTRAG-UN's questions with a history; MTRAG's whose passages happen to be in MTRAG-UN's pool."""
    qrels = load_qrels(folder, "test")
    for query in load_queries(folder):
        if query.history and query.id in qrels:
            yield Asked(f"MTRAG-UN {_half(query.id)}", _history(query), query.text, qrels[query.id])
    for item in rewrites:
        gold = {name: 1 for name in item.gold if name in known}
        if gold:
            left = " left as asked" if item.rewritten == item.message else ""
            group = f"MTRAG{left} {_half(item.id)}"
            yield Asked(group, item.history, item.message, gold, item.rewritten)


def dialogues(folder: Path) -> Iterator[Asked]:
    """Our own dialogues over the manuals: last turns that lean, and those that stand alone."""
    for half in ("dev", "test"):
        qrels = load_qrels(folder / half, "test")
        for query in load_queries(folder / half):
            yield Asked(f"{query.kind} {half}", _history(query), query.text, qrels[query.id])


def print_scores(asked: Sequence[Asked], *, search: HybridSearch, names: Mapping[str, str]) -> None:
    """Each way's nDCG@10 by group, and a person's rewrite where there is one."""
    options = search.options.but(top_k=DEPTH, context_tokens=10**9)
    groups = list(dict.fromkeys(item.group for item in asked))
    echo(f"\nnDCG@{DEPTH}\n")
    echo(f"| | {' | '.join(f'{group} ({sum(i.group == group for i in asked)})' for group in groups)} |")
    echo("|---" * (len(groups) + 1) + "|")
    people = {"a person's rewrite": None} if any(item.rewritten for item in asked) else {}
    for name, way in (WAYS | people).items():
        gains: dict[str, list[float]] = {group: [] for group in groups}
        for item in asked:
            if way is None and not item.rewritten:
                continue
            found = way(item.history, item.message) if way else Condensed(item.rewritten)
            passages = search.search(found.question, options=options, beside=found.beside).passages
            ranking = [names[passage.section.node_id] for passage in passages]
            gains[item.group].append(ndcg_at(ranking, item.gold, DEPTH))
        cells = [f"{mean(values):.3f}" if values else "" for values in gains.values()]
        echo(f"| {name} | {' | '.join(cells)} |")


def _half(query_id: str) -> str:
    """By the conversation, so that its turns are in one half."""
    return "test" if held_out(query_id.split("<::>")[0]) else "dev"


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
        found = [overlap(way(item.history, item.message).question, item.rewritten) for item in rewrites]
        needed = [overlap(way(item.history, item.message).question, item.rewritten).f1 for item in needy]
        untouched = mean([float(way(item.history, item.message).question == item.message) for item in alone])
        echo(
            f"| {name} | {mean([o.precision for o in found]):.3f} | {mean([o.recall for o in found]):.3f} | "
            f"{mean([o.f1 for o in found]):.3f} | {mean(needed):.3f} | {untouched:.3f} |"
        )


def print_first_questions(folders: Sequence[Path]) -> None:
    """How many questions without a history would be left alone after any other: all should be."""
    queries = [query for folder in folders for query in load_queries(folder) if not query.history]
    queries = [query for query in queries if not held_out(query.id)]
    alone = sum(not leans(query.text) for query in queries)
    echo(f"\n{alone} of {len(queries)} first questions stand alone by the rules")


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
    rewrites = [rewrite for folder in folders for rewrite in load_rewrites(folder)]
    print_rewrites(rewrites)
    print_first_questions(FIRST_QUESTIONS)
    if arguments.rewrites_only:
        return
    with tempfile.TemporaryDirectory(prefix="athena-condense-") as folder:
        settings = load_settings(
            llm="none", hyde="off", rerank=False, cross_encoder="none", data_dir=Path(folder)
        )
        athena = open_athena(settings)
        athena.ingest([MANUALS])
        own = list(dialogues(DIALOGUES))
        print_scores(own, search=athena.hybrid_search, names=section_names(athena.store))
        source = arguments.data / "mtrag" / "mtragun_pooled"
        with closing(EmbeddedStore(Path(folder) / source.name)) as store:
            indexed = index_corpus(
                load_corpus(source),
                store=store,
                cutter=athena.sentence_cutter(),
                encoder=athena.encoder,
                manifest=athena.manifest,
            )
            asked = list(pooled(source, rewrites, set(indexed.names.values())))
            print_scores(asked, search=athena.hybrid_search_over(store, None), names=indexed.names)
        athena.close()


if __name__ == "__main__":
    main()
