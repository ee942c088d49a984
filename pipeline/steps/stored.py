"""Stored steps read back, also those of versions that kept them as dicts of inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from pipeline.finding.fusion import LISTS
from pipeline.steps.records import KINDS, Step

Stored = Mapping[str, Any]
COMMON = ("name", "ms", "status", "detail", "started_at")


def read_steps(stored: Iterable[Stored]) -> tuple[Step, ...]:
    """The records of stored steps; steps and fields that this version does not know are left out."""
    known = (_converted(step) if "outputs" in step else step for step in stored)
    return tuple(
        _adapters()[step["name"]].validate_python(step) for step in known if step["name"] in _adapters()
    )


@cache
def _adapters() -> Mapping[str, TypeAdapter[Step]]:
    return {name: TypeAdapter(kind) for name, kind in KINDS.items()}


def _converted(old: Stored) -> Stored:
    """A step with inputs and outputs as one of today's."""
    inputs, outputs = old.get("inputs", {}), old["outputs"]
    common = {name: old[name] for name in COMMON if name in old}
    match old["name"]:
        case "search":
            hits = sum(len(outputs.get(name, ())) for name in LISTS)
            return {**common, **inputs, **outputs, "hits": hits}
        case "fuse":
            return {**common, **outputs, "weights": inputs, "sections": len(outputs.get("ranking", ()))}
        case "merge":
            return {**common, **inputs, "sections": _fetched(outputs)}
        case "generate":
            return {**common, **inputs, **outputs, "characters": outputs.get("text", 0)}
        case _:
            return {**common, **inputs, **outputs}


def _fetched(outputs: Stored) -> list[Stored]:
    merges = {merge["section_id"]: merge for merge in outputs.get("merged", ())}
    return [
        {"section_id": section_id, **label, **merges.get(section_id, {})}
        for section_id, label in outputs.get("nodes", {}).items()
    ]
