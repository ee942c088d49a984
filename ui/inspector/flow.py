"""The steps of an answer as data for the inspector: the flow, and each passage's rank from list to list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.steps.records import (
    KEPT_RANKS,
    AnswerableStep,
    CondenseStep,
    CorrectStep,
    EmbedStep,
    FetchedSection,
    FuseStep,
    GenerateStep,
    HydeStep,
    MergeStep,
    MergeUpStep,
    PromptStep,
    QuoteStep,
    RecallStep,
    RememberStep,
    RerankStep,
    SearchStep,
    SelectStep,
    Step,
    ThinkStep,
    ToolStep,
    VerifyStep,
    step_of,
)
from pipeline.words import counted
from ui.shared.words import shortened

View = dict[str, Any]

LISTS = {
    "bm25_sections": "BM25 sections",
    "bm25_sentences": "BM25 sentences",
    "dense_sections": "Dense sections",
    "dense_sentences": "Dense sentences",
}
LABELS = {
    "think": "Think",
    "tool": "Tool",
    "condense": "Condense",
    "recall": "Recall",
    "correct": "Spelling",
    "hyde": "Hypothesis",
    "embed": "Embed",
    "search": "Search",
    "fuse": "Fuse",
    "merge": "Merge",
    "rerank": "Rerank",
    "answerable": "Answerable?",
    "merge_up": "Merge up",
    "select": "Select",
    "prompt": "Prompt",
    "generate": "Generate",
    "quote": "Quote",
    "verify": "Verify",
    "remember": "Remember",
}
DEPTH = 12  # ranks drawn; what stands lower is drawn below the last
LABEL = 32  # characters of a name that has what became of it behind it
SENTENCES = 40  # rows of each list of sentences
FURTHER = KEPT_RANKS + 1  # stands for every rank below those that a step keeps


def flow_view(steps: Sequence[Step]) -> View:
    """The boxes from left to right."""
    longest = max((step.ms for step in steps), default=0.0) or 1.0
    return {
        "steps": [
            {
                "label": LABELS.get(step.name, step.name.capitalize()),
                "status": step.status,
                "count": _count(step),
                "time": duration(step.ms) if step.status != "skipped" else "skipped",
                "detail": step.detail,
                "share": step.ms / longest
                if step.status != "skipped"
                else 0.0,  # of a wait for the user, too
            }
            for step in steps
        ]
    }


def duration(ms: float) -> str:
    """A time as people read it."""
    if ms >= 1000:
        return f"{ms / 1000:.1f} s"
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms"


def _count(step: Step) -> str:
    if step.status != "ok":
        return step.detail
    match step:
        case CondenseStep():
            return {"rules": "by rules", "model": "by the model"}.get(step.by, "as asked")
        case RecallStep():
            return f"{len(step.recalled) + len(step.graph)} of {counted(step.considered, 'candidate')}"
        case RememberStep():
            return step.detail or f"{len(step.added)} kept"
        case CorrectStep():
            return counted(len(step.words), "word")
        case HydeStep():
            return counted(len(step.hypothesis.split()), "word")
        case EmbedStep():
            return counted(step.dimensions, "dimension") if step.dimensions else ""
        case SearchStep():
            return _searched(step)
        case FuseStep():
            return counted(step.sections, "section")
        case MergeStep():
            return f"{counted(sum(section.merged for section in step.sections), 'section')} merged"
        case RerankStep():
            return _moved(step)
        case AnswerableStep():
            return f"{step.probability:.0%}, {step.verdict or f'needs {step.threshold:.0%}'}"
        case MergeUpStep():
            return counted(len(step.parents), "parent")
        case SelectStep():
            return f"{counted(len(step.selected), 'passage')}, {counted(step.tokens, 'token')}"
        case PromptStep():
            return f"{counted(step.tokens, 'token')}" if step.tokens else ""
        case GenerateStep():
            return counted(step.answer_tokens, "token") if step.answer_tokens else ""
        case QuoteStep():
            return counted(len(step.quotes), "quote")
        case ThinkStep():
            return step.wants or "answers"
        case ToolStep():
            return f"{step.tool}: {step.found}"
        case VerifyStep():
            return f"{step.supported} of {counted(step.sentences, 'sentence')} supported"
    return step.detail


def _searched(step: SearchStep) -> str:
    hits = counted(step.hits, "hit")
    return f"{hits} in {counted(step.sentences, 'sentence')}" if step.sentences else hits


def _moved(step: RerankStep) -> str:
    pairs = zip(step.before, step.after, strict=False)
    return f"{counted(sum(before != after.section_id for before, after in pairs), 'passage')} moved"


@dataclass(frozen=True, slots=True)
class Ranks:
    """Each column's ranking of section ids, best first, by the column's name."""

    columns: Mapping[str, tuple[str, ...]]
    sections: Mapping[str, FetchedSection]  # by id
    selected: tuple[str, ...]
    further: Mapping[str, frozenset[str]] = field(default_factory=dict)  # found by a list below what it kept
    left_out: Mapping[str, str] = field(default_factory=dict)  # why a section was not selected, by id

    def rank(self, column: str, section_id: str) -> int | None:
        """Counting from 1, `FURTHER` where it is below what was kept; None where it was not found."""
        ranking = self.columns[column]
        if section_id in ranking:
            return ranking.index(section_id) + 1
        return FURTHER if section_id in self.further.get(column, ()) else None

    def name(self, section_id: str) -> str:
        """A section's own heading."""
        section = self.sections.get(section_id)
        if section is None:
            return "a section further down"
        return section.heading_path[-1] if section.heading_path else section.source

    def where(self, section_id: str) -> str:
        """A section's whole breadcrumb."""
        section = self.sections.get(section_id)
        return " › ".join([section.source, *section.heading_path]) if section else section_id


def ranks(steps: Sequence[Step]) -> Ranks:
    """The rankings that the steps recorded, each as sections."""
    search = step_of(steps, SearchStep)
    columns = {
        LISTS[name]: tuple(dict.fromkeys(hit.section_id for hit in hits))
        for name, hits in search.lists.items()
        if hits
    }
    fuse = step_of(steps, FuseStep)
    columns["Fused"] = tuple(item.id for item in fuse.ranking)
    rerank = step_of(steps, RerankStep)
    if rerank.after:
        columns["Reranked"] = tuple(item.section_id for item in rerank.after)
    select = step_of(steps, SelectStep)
    columns["Selected"] = select.selected
    further = {
        label: frozenset(item.id for item in fuse.ranking if name in item.contributions) - {*columns[label]}
        for name, label in LISTS.items()
        if label in columns
    }
    sections = {section.section_id: section for section in fetched(steps)}
    further |= {
        label: frozenset(sections) - {*columns[label]} for label in ("Fused", "Reranked") if label in columns
    }
    return Ranks(columns, sections, select.selected, further, _left_out(steps))


def _left_out(steps: Sequence[Step]) -> Mapping[str, str]:
    """What became of the sections that the answer does not rest on as they are."""
    select = step_of(steps, SelectStep)
    dropped = {item.section_id: f"dropped: {item.why}" for item in select.dropped}
    merged = {
        member: f"part of “{parent.heading_path[-1]}”"
        for parent in step_of(steps, MergeUpStep).parents
        if parent.section_id in select.selected and parent.heading_path
        for member in parent.members
        if member not in select.selected
    }
    return dropped | merged


def fetched(steps: Sequence[Step]) -> tuple[FetchedSection, ...]:
    """The sections that were fetched, in the order of the fused ranking."""
    return step_of(steps, MergeStep).sections


def bumps_view(found: Ranks) -> View:
    """Rows for the picture: what was selected, and what stood high in the fused ranking."""
    fused = found.columns.get("Fused", ())
    shown = list(dict.fromkeys([*found.selected, *fused[:DEPTH]]))[: DEPTH + 4]
    rows = [_row(found, section_id, kept=section_id in found.selected) for section_id in shown]
    drawn = [rank for row in rows for rank in row["ranks"] if rank and rank <= DEPTH]
    return {
        "label": "Ranks of the passages from list to list",
        "columns": list(found.columns),
        **_ended(rows, depth=max(drawn, default=1)),
    }


def _row(found: Ranks, section_id: str, *, kept: bool, change: str = "") -> View:
    places = [found.rank(name, section_id) for name in found.columns]
    if places[-1] is None and not change:
        change = "merged" if found.left_out.get(section_id, "").startswith("part of") else "dropped"
    told, name = story(list(found.columns), places), found.name(section_id)
    return {
        "id": section_id,
        "label": f"{shortened(name, LABEL)}  {change}" if change else name,
        "where": found.where(section_id),
        "ranks": places,
        "kept": kept,
        "story": f"{told}; {found.left_out[section_id]}" if section_id in found.left_out else told,
    }


def _ended(rows: Sequence[View], *, depth: int) -> View:
    """The rows, those that end before the last list each with a place below all that it ranks."""
    place = max((row["ranks"][-1] for row in rows if row["ranks"][-1]), default=0)
    ended = []
    for row in rows:
        place += row["ranks"][-1] is None
        ended.append(row | {"end": place if row["ranks"][-1] is None else None})
    return {"rows": ended, "depth": max(depth, place)}


def story(names: Sequence[str], places: Sequence[int | None]) -> str:
    """One passage's way in words."""
    return ", ".join(f"{name} {_place(place)}" for name, place in zip(names, places, strict=True))


def _place(rank: int | None) -> str:
    if rank is None:
        return "not found"
    return f"#{rank}" if rank < FURTHER else "further down"


def contributions(steps: Sequence[Step], found: Ranks) -> list[View]:
    """What each list gave to the first fused sections, one row a section."""
    fuse = step_of(steps, FuseStep)
    return [
        {"#": rank, "Section": found.where(item.id), "Fused score": item.score}
        | {label: item.contributions.get(name, 0.0) for name, label in LISTS.items()}
        for rank, item in enumerate(fuse.ranking[:DEPTH], 1)
    ]


def merges(steps: Sequence[Step], found: Ranks) -> list[str]:
    """Merges in words: "3 of 4 sentences → section"."""
    return [
        f"{section.found} of {counted(section.siblings, 'sentence')} → section: "
        f"{found.where(section.section_id)}"
        for section in fetched(steps)
        if section.merged
    ]


def parents(steps: Sequence[Step]) -> list[str]:
    """Merges upwards in words: "3 of 6 sections → parent"."""
    return [
        f"{parent.found} of {len(parent.members)} sections → {' › '.join(parent.heading_path)}"
        for parent in step_of(steps, MergeUpStep).parents
    ]


def rerank_rows(steps: Sequence[Step], found: Ranks) -> list[View]:
    """Rank before and after the cross-encoder, with its score."""
    step = step_of(steps, RerankStep)
    rows = []
    for rank, item in enumerate(step.after[:DEPTH], 1):
        was = step.before.index(item.section_id) + 1 if item.section_id in step.before else None
        rows.append(
            {
                "#": rank,
                "was": was,
                "moved": movement(was, rank),
                "Section": found.where(item.section_id),
                "cross-encoder": item.rerank_score,
                "combined": item.score,
            }
        )
    return rows


def movement(before: int | None, after: int | None) -> str:
    """A change of rank in two characters or a word."""
    if before is None:
        return "new"
    if after is None:
        return "dropped"
    if before == after:
        return "="
    return f"↑{before - after}" if after < before else f"↓{after - before}"


def comparison_view(left: Ranks, right: Ranks, *, names: tuple[str, str]) -> View:
    """Two final rankings side by side, as the same picture with two columns."""
    first, second = left.selected[:DEPTH], right.selected[:DEPTH]
    both = Ranks(dict(zip(names, (first, second), strict=True)), {**left.sections, **right.sections}, second)
    rows = []
    for section_id in dict.fromkeys([*second, *first]):
        change = movement(both.rank(names[0], section_id), both.rank(names[1], section_id))
        moved = change != "="
        rows.append(_row(both, section_id, kept=moved, change=change if moved else ""))
    return {
        "label": "Both rankings",
        "columns": list(names),
        **_ended(rows, depth=max(len(first), len(second), 1)),
    }


def quote_rows(steps: Sequence[Step], found: Ranks, sections: Mapping[str, str]) -> list[View]:
    """The quotes in the order in which they are shown, with what that comes from; `sections` by sentence."""
    step, place = step_of(steps, QuoteStep), found.columns.get("Selected", ())
    last = "Reranked" if "Reranked" in found.columns else "Fused"
    rows = []
    for number, quote in enumerate(step.quotes, 1):
        section = sections.get(quote.node_id, "")
        rows.append(
            {
                "Quote": number,
                "Section": found.where(section) if section else "not indexed any more",
                "Place of its section": place.index(section) + 1 if section in place else None,
                f"{last} rank": found.rank(last, section) if section else None,
                "Chance that it answers": quote.score,
            }
        )
    return rows


def sentence_rows(steps: Sequence[Step], found: Ranks) -> list[View]:
    """Each sentence that a list named, with its rank and score there, best rank first."""
    search = step_of(steps, SearchStep)
    rows: dict[str, View] = {}
    for kind, hits in (("BM25", search.bm25_sentences), ("Dense", search.dense_sentences)):
        for rank, hit in enumerate(hits[:SENTENCES], 1):
            row = rows.setdefault(
                hit.node_id,
                {"id": hit.node_id, "Section": found.name(hit.section_id)}
                | {"BM25 rank": None, "BM25 score": None, "Dense rank": None, "Dense score": None},
            )
            row[f"{kind} rank"], row[f"{kind} score"] = rank, hit.score
    return sorted(
        rows.values(), key=lambda row: min(row["BM25 rank"] or SENTENCES, row["Dense rank"] or SENTENCES)
    )


def run_tree(steps: Sequence[Step]) -> list[tuple[str, list[ToolStep]]]:
    """An agent's run: each thought with the calls that follow it; what was looked up first has no thought."""
    tree: list[tuple[str, list[ToolStep]]] = []
    for step in steps:
        if isinstance(step, ThinkStep):
            said = step.thought or step.detail or "(no thought)"
            tree.append((f"{said} · {duration(step.ms)}", []))
        elif isinstance(step, ToolStep):
            tree = tree or [("Looked up first", [])]
            tree[-1][1].append(step)
    return tree
