"""The steps of an answer as data for the inspector: the flow, and each passage's rank from list to list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.steps.events import Step

View = dict[str, Any]
Outputs = Mapping[str, Any]

LISTS = {
    "bm25_sections": "BM25 sections",
    "bm25_sentences": "BM25 sentences",
    "dense_sections": "Dense sections",
    "dense_sentences": "Dense sentences",
}
LABELS = {
    "condense": "Condense",
    "hyde": "Hypothesis",
    "wait": "Wait",
    "embed": "Embed",
    "search": "Search",
    "fuse": "Fuse",
    "merge": "Merge",
    "rerank": "Rerank",
    "answerable": "Answerable?",
    "select": "Select",
    "prompt": "Prompt",
    "generate": "Generate",
    "quote": "Quote",
    "verify": "Verify",
}
DEPTH = 12  # ranks drawn; what stands lower is drawn below the last


def step_named(steps: Sequence[Step], name: str) -> Step | None:
    """The last step of that name."""
    return next((step for step in reversed(steps) if step.name == name), None)


def outputs(steps: Sequence[Step], name: str) -> Outputs:
    """What a step put out; empty where it was not taken."""
    step = step_named(steps, name)
    return step.outputs if step else {}


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
                "share": step.ms / longest,
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
    describe = COUNTS.get(step.name)
    return describe(step.outputs) if describe else step.detail


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _searched(out: Outputs) -> str:
    hits = sum(len(out.get(name, ())) for name in LISTS)
    total = out.get("sentences")
    return f"{_plural(hits, 'hit')} in {total:,} sentences" if total else _plural(hits, "hit")


def _merged(out: Outputs) -> str:
    merges = [merge for merge in out.get("merged", ()) if merge.get("merged", True)]
    return f"{_plural(len(merges), 'section')} merged"


def _moved(out: Outputs) -> str:
    before = list(out.get("before", ()))
    after = [item[0] for item in out.get("after", ())]
    moved = sum(1 for a, b in zip(before, after, strict=False) if a != b)
    return f"{_plural(moved, 'passage')} moved"


COUNTS: dict[str, Callable[[Outputs], str]] = {
    "condense": lambda out: {"rules": "by rules", "model": "by the model"}.get(out.get("by", ""), "as asked"),
    "hyde": lambda out: _plural(len(str(out.get("hypothesis", "")).split()), "word"),
    "embed": lambda out: f"{out['dimensions']} dimensions" if "dimensions" in out else "",
    "search": _searched,
    "fuse": lambda out: _plural(len(out.get("ranking", ())), "section"),
    "merge": _merged,
    "rerank": _moved,
    "answerable": lambda out: f"{out.get('probability', 0):.0%}, needs {out.get('threshold', 0):.0%}",
    "select": lambda out: (
        f"{_plural(len(out.get('selected', ())), 'passage')}, {out.get('tokens', 0):,} tokens"
    ),
    "quote": lambda out: _plural(len(out.get("quotes", ())), "quote"),
    "verify": lambda out: (
        f"{out.get('supported', 0)} of {_plural(out.get('sentences', 0), 'sentence')} supported"
    ),
    "generate": lambda out: _plural(out["answer_tokens"], "token") if out.get("answer_tokens") else "",
    "prompt": lambda out: f"{out['tokens']:,} tokens" if out.get("tokens") else "",
}


@dataclass(frozen=True, slots=True)
class Ranks:
    """Each column's ranking of section ids, best first, by the column's name."""

    columns: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, Mapping[str, Any]]  # section id → source, heading_path
    selected: tuple[str, ...]

    def rank(self, column: str, section_id: str) -> int | None:
        """Counting from 1; None where the column does not have it."""
        ranking = self.columns[column]
        return ranking.index(section_id) + 1 if section_id in ranking else None

    def name(self, section_id: str) -> str:
        """A section's own heading."""
        label = self.labels.get(section_id)
        if not label:
            return "a section further down"
        path = list(label.get("heading_path") or [])
        return str(path[-1] if path else label["source"])

    def where(self, section_id: str) -> str:
        """A section's whole breadcrumb."""
        label = self.labels.get(section_id)
        return " › ".join([label["source"], *label["heading_path"]]) if label else section_id


def ranks(steps: Sequence[Step]) -> Ranks:
    """The rankings that the steps recorded, each as sections."""
    search = outputs(steps, "search")
    columns: dict[str, tuple[str, ...]] = {}
    for name, label in LISTS.items():
        if search.get(name):
            columns[label] = tuple(dict.fromkeys(hit[1] for hit in search[name]))
    columns["Fused"] = tuple(item[0] for item in outputs(steps, "fuse").get("ranking", ()))
    after = tuple(item[0] for item in outputs(steps, "rerank").get("after", ()))
    if after:
        columns["Reranked"] = after
    selected = tuple(outputs(steps, "select").get("selected", ()))
    columns["Selected"] = selected
    return Ranks(columns, outputs(steps, "merge").get("nodes", {}), selected)


def bumps_view(found: Ranks, *, depth: int = DEPTH) -> View:
    """Rows for the picture: what was selected, and what stood high in the fused ranking."""
    fused = found.columns.get("Fused", ())
    shown = list(dict.fromkeys([*found.selected, *fused[:depth]]))[: depth + 4]
    names = list(found.columns)
    rows: list[View] = []
    for section_id in shown:
        places = [found.rank(name, section_id) for name in names]
        rows.append(
            {
                "id": section_id,
                "label": found.name(section_id),
                "where": found.where(section_id),
                "ranks": places,
                "kept": section_id in found.selected,
                "story": story(names, places),
            }
        )
    return {
        "label": "Ranks of the passages from list to list",
        "columns": names,
        "rows": rows,
        "depth": min(depth, max((r for row in rows for r in row["ranks"] if r and r <= depth), default=1)),
    }


def story(names: Sequence[str], places: Sequence[int | None]) -> str:
    """One passage's way in words."""
    return ", ".join(
        f"{name} {'#' + str(place) if place else 'not found'}"
        for name, place in zip(names, places, strict=True)
    )


def contributions(steps: Sequence[Step], found: Ranks, *, depth: int = DEPTH) -> list[View]:
    """What each list gave to the first fused sections, one row a section."""
    table = []
    for rank, (section_id, score, parts) in enumerate(outputs(steps, "fuse").get("ranking", ())[:depth], 1):
        row: View = {"#": rank, "Section": found.where(section_id), "Fused score": score}
        row |= {label: parts.get(name, 0.0) for name, label in LISTS.items()}
        table.append(row)
    return table


def merges(steps: Sequence[Step], found: Ranks) -> list[str]:
    """Merges in words: "3 of 4 sentences → section"."""
    lines = []
    for merge in outputs(steps, "merge").get("merged", ()):
        if merge.get("merged", True):
            name = found.where(merge["section_id"])
            lines.append(f"{merge['found']} of {merge['siblings']} sentences → section: {name}")
    return lines


def rerank_rows(steps: Sequence[Step], found: Ranks) -> list[View]:
    """Rank before and after the cross-encoder, with its score."""
    out = outputs(steps, "rerank")
    before = list(out.get("before", ()))
    rows = []
    for rank, (section_id, combined, cross) in enumerate(out.get("after", ())[:DEPTH], 1):
        was = before.index(section_id) + 1 if section_id in before else None
        rows.append(
            {
                "#": rank,
                "was": was,
                "moved": movement(was, rank),
                "Section": found.where(section_id),
                "cross-encoder": cross,
                "combined": combined,
            }
        )
    return rows


def movement(before: int | None, after: int | None) -> str:
    """A change of rank in two characters or a word."""
    if before is None:
        return "new"
    if after is None:
        return "gone"
    if before == after:
        return "="
    return f"↑{before - after}" if after < before else f"↓{after - before}"


def comparison_view(left: Ranks, right: Ranks, *, names: tuple[str, str], depth: int = DEPTH) -> View:
    """Two final rankings side by side, as the same picture with two columns."""
    first, second = left.selected[:depth], right.selected[:depth]
    labels = {**left.labels, **right.labels}
    both = Ranks({names[0]: first, names[1]: second}, labels, second)
    rows = []
    for section_id in dict.fromkeys([*second, *first]):
        places = [both.rank(name, section_id) for name in names]
        change = movement(places[0], places[1])
        label = both.name(section_id) + ("" if change == "=" else f"  {change}")
        rows.append(
            {
                "id": section_id,
                "label": label,
                "where": both.where(section_id),
                "ranks": places,
                "kept": change != "=",
                "story": story(names, places),
            }
        )
    return {
        "label": "Both rankings",
        "columns": list(names),
        "rows": rows,
        "depth": max(len(first), len(second), 1),
    }


def sentence_rows(steps: Sequence[Step], found: Ranks, *, depth: int = 40) -> list[View]:
    """Each sentence that a list named, with its rank and score there, best rank first."""
    search = outputs(steps, "search")
    rows: dict[str, View] = {}
    for name in ("bm25_sentences", "dense_sentences"):
        kind = "BM25" if name.startswith("bm25") else "Dense"
        for rank, (node_id, section_id, score) in enumerate(search.get(name, ())[:depth], 1):
            row = rows.setdefault(
                node_id,
                {"id": node_id, "Section": found.name(section_id)}
                | {"BM25 rank": None, "BM25 score": None, "Dense rank": None, "Dense score": None},
            )
            row[f"{kind} rank"], row[f"{kind} score"] = rank, score
    return sorted(rows.values(), key=lambda row: min(row["BM25 rank"] or depth, row["Dense rank"] or depth))
