"""The steps of an answer as data for the inspector: the flow, and each passage's rank from list to list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.steps.records import Step, data_of
from pipeline.steps.trace import KEPT_RANKS
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
    """Return the number that a box shows: how much the step found or wrote."""
    data = step.data
    if step.status != "ok" or not data:
        return step.detail
    match step.name:
        case "condense":
            return {"rules": "by rules", "model": "by the model"}.get(data.get("by", ""), "as asked")
        case "recall":
            found = len(data.get("recalled", ())) + len(data.get("graph", ()))
            return f"{found} of {counted(data['considered'], 'candidate')}"
        case "remember":
            return step.detail or f"{len(data.get('added', ()))} kept"
        case "correct":
            return counted(len(data["words"]), "word")
        case "hyde":
            return counted(len(data["hypothesis"].split()), "word")
        case "embed":
            return counted(data["dimensions"], "dimension")
        case "search":
            return f"{counted(data['hits'], 'hit')} in {counted(data['sentences'], 'sentence')}"
        case "fuse":
            return counted(data["sections"], "section")
        case "merge":
            return f"{counted(sum(section['merged'] for section in data['sections']), 'section')} merged"
        case "rerank":
            return _moved(data)
        case "answerable":
            return f"{data['probability']:.0%}, {data['verdict']}"
        case "merge_up":
            return counted(len(data.get("parents", ())), "parent")
        case "select":
            return f"{counted(len(data['selected']), 'passage')}, {counted(data['tokens'], 'token')}"
        case "prompt":
            return counted(data["tokens"], "token")
        case "generate":
            return counted(tokens, "token") if (tokens := data.get("answer_tokens")) else ""
        case "quote":
            return counted(len(data["quotes"]), "quote")
        case "think":
            return str(data.get("wants") or "answers")
        case "tool":
            return f"{data['tool']}: {data.get('found', '')}"
        case "verify":
            return f"{data['supported']} of {counted(data['sentences'], 'sentence')} supported"
    return step.detail


def _moved(data: Mapping[str, Any]) -> str:
    pairs = zip(data.get("before", ()), data.get("after", ()), strict=False)
    moved = sum(before != after["section_id"] for before, after in pairs)
    return f"{counted(moved, 'passage')} moved"


@dataclass(frozen=True, slots=True)
class Ranks:
    """Each column's ranking of section ids, best first, by the column's name."""

    columns: Mapping[str, tuple[str, ...]]
    sections: Mapping[str, Mapping[str, Any]]  # as the "merge" step has them, by id
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
        return str(section["heading_path"][-1] if section["heading_path"] else section["source"])

    def where(self, section_id: str) -> str:
        """A section's whole breadcrumb."""
        section = self.sections.get(section_id)
        return " › ".join([section["source"], *section["heading_path"]]) if section else section_id


def ranks(steps: Sequence[Step]) -> Ranks:
    """The rankings that the steps recorded, each as sections."""
    search = data_of(steps, "search")
    columns = {
        label: tuple(dict.fromkeys(hit["section_id"] for hit in search[name]))
        for name, label in LISTS.items()
        if search.get(name)
    }
    ranking = data_of(steps, "fuse").get("ranking", ())
    columns["Fused"] = tuple(item["id"] for item in ranking)
    if after := data_of(steps, "rerank").get("after"):
        columns["Reranked"] = tuple(item["section_id"] for item in after)
    selected = columns["Selected"] = tuple(data_of(steps, "select").get("selected", ()))
    further = {
        label: frozenset(item["id"] for item in ranking if name in item["contributions"]) - {*columns[label]}
        for name, label in LISTS.items()
        if label in columns
    }
    sections = {section["section_id"]: section for section in fetched(steps)}
    further |= {
        label: frozenset(sections) - {*columns[label]} for label in ("Fused", "Reranked") if label in columns
    }
    return Ranks(columns, sections, selected, further, _left_out(steps))


def _left_out(steps: Sequence[Step]) -> Mapping[str, str]:
    """What became of the sections that the answer does not rest on as they are."""
    select = data_of(steps, "select")
    selected = select.get("selected", ())
    dropped = {item["section_id"]: f"dropped: {item['why']}" for item in select.get("dropped", ())}
    merged = {
        member: f"part of “{parent['heading_path'][-1]}”"
        for parent in data_of(steps, "merge_up").get("parents", ())
        if parent["section_id"] in selected and parent["heading_path"]
        for member in parent["members"]
        if member not in selected
    }
    return dropped | merged


def fetched(steps: Sequence[Step]) -> Sequence[Mapping[str, Any]]:
    """Return the sections that were fetched, in the order of the fused ranking."""
    sections: Sequence[Mapping[str, Any]] = data_of(steps, "merge").get("sections", [])
    return sections


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
    ranking = data_of(steps, "fuse").get("ranking", ())
    return [
        {"#": rank, "Section": found.where(item["id"]), "Fused score": item["score"]}
        | {label: item["contributions"].get(name, 0.0) for name, label in LISTS.items()}
        for rank, item in enumerate(ranking[:DEPTH], 1)
    ]


def merges(steps: Sequence[Step], found: Ranks) -> list[str]:
    """Merges in words: "3 of 4 sentences → section"."""
    return [
        f"{section['found']} of {counted(section['siblings'], 'sentence')} → section: "
        f"{found.where(section['section_id'])}"
        for section in fetched(steps)
        if section["merged"]
    ]


def parents(steps: Sequence[Step]) -> list[str]:
    """Merges upwards in words: "3 of 6 sections → parent"."""
    return [
        f"{parent['found']} of {len(parent['members'])} sections → {' › '.join(parent['heading_path'])}"
        for parent in data_of(steps, "merge_up").get("parents", ())
    ]


def rerank_rows(steps: Sequence[Step], found: Ranks) -> list[View]:
    """Rank before and after the cross-encoder, with its score."""
    step = data_of(steps, "rerank")
    before, after = step.get("before", []), step.get("after", [])
    rows = []
    for rank, item in enumerate(after[:DEPTH], 1):
        was = before.index(item["section_id"]) + 1 if item["section_id"] in before else None
        rows.append(
            {
                "#": rank,
                "was": was,
                "moved": movement(was, rank),
                "Section": found.where(item["section_id"]),
                "cross-encoder": item["rerank_score"],
                "combined": item["score"],
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
    quotes, place = data_of(steps, "quote").get("quotes", ()), found.columns.get("Selected", ())
    last = "Reranked" if "Reranked" in found.columns else "Fused"
    rows = []
    for number, quote in enumerate(quotes, 1):
        section = sections.get(quote["node_id"], "")
        rows.append(
            {
                "Quote": number,
                "Section": found.where(section) if section else "not indexed any more",
                "Place of its section": place.index(section) + 1 if section in place else None,
                f"{last} rank": found.rank(last, section) if section else None,
                "Chance that it answers": quote["score"],
            }
        )
    return rows


def sentence_rows(steps: Sequence[Step], found: Ranks) -> list[View]:
    """Each sentence that a list named, with its rank and score there, best rank first."""
    search = data_of(steps, "search")
    rows: dict[str, View] = {}
    for kind, name in (("BM25", "bm25_sentences"), ("Dense", "dense_sentences")):
        for rank, hit in enumerate(search.get(name, ())[:SENTENCES], 1):
            row = rows.setdefault(
                hit["node_id"],
                {"id": hit["node_id"], "Section": found.name(hit["section_id"])}
                | {"BM25 rank": None, "BM25 score": None, "Dense rank": None, "Dense score": None},
            )
            row[f"{kind} rank"], row[f"{kind} score"] = rank, hit["score"]
    return sorted(
        rows.values(), key=lambda row: min(row["BM25 rank"] or SENTENCES, row["Dense rank"] or SENTENCES)
    )


def run_tree(steps: Sequence[Step]) -> list[tuple[str, list[Step]]]:
    """An agent's run: each thought with the calls that follow it; what was looked up first has no thought."""
    tree: list[tuple[str, list[Step]]] = []
    for step in steps:
        if step.name == "think":
            said = step.data.get("thought") or step.detail or "(no thought)"
            tree.append((f"{said} · {duration(step.ms)}", []))
        elif step.name == "tool":
            tree = tree or [("Looked up first", [])]
            tree[-1][1].append(step)
    return tree
