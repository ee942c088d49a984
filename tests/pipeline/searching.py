"""A small manual in a real store, and a search over it; only the models are fakes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.answer import Answer, Retrieval
from pipeline.finding.verdict import Calibration
from pipeline.options import RetrievalOptions
from pipeline.retrieve import HybridSearch
from pipeline.steps.records import Step, last_step
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import run_ingest

ENCODER = FakeEncoder()
CALIBRATION = Calibration({"coverage": 4.0}, intercept=-2.0, threshold=0.5, sure=0.7)

RETRIEVING = [
    "correct", "embed", "search", "fuse", "merge", "rerank", "answerable", "merge_up", "select",
]  # fmt: skip
"""The names of a search's steps, in order."""

FILES = {
    "systems/ecs.md": """\
# ECS

## Cabin fan

The cabin fan moves the air. It hums at 4000 rpm. A broken fan shows OFFLINE.

## LN2 tank

The LN2 tank holds nitrogen. When the LN2 tank shows OFFLINE, check these:

- the breaker of the tank heater
- the quantity sensor
- the relief valve

Then call the ground.

## Oxygen tank

The oxygen tank feeds the cabin.
""",
    "systems/power.md": """\
Batteries carry the ship through the night.

# Power

Fuel cells make power from hydrogen. The bus feeds the fan and the pump.

## Breakers

Reset a breaker once. A breaker that opens again stays open.
""",
    "comms.md": """\
# Radio

Call the ground on S-band. The antenna points at Earth.
""",
}


def write_manual(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    """`folder`/manual with these files."""
    for name, text in files.items():
        path = folder / "manual" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "manual"


def make_store(folder: Path, files: Mapping[str, str] = FILES) -> EmbeddedStore:
    """A store with these files of `folder`/manual indexed."""
    store = EmbeddedStore(folder / "store")
    report = run_ingest(store, write_manual(folder, files), encoder=ENCODER)
    assert len(report.added) == len(files), report.problems
    return store


def make_search(store: Any, *, encoder: Any = ENCODER, **given: Any) -> HybridSearch:
    """A search; keywords that are options of a search go there.

    Its manual is so small that parents would stand for nearly all sections: unless asked for, none does.
    """
    names = RetrievalOptions.model_fields
    given = {"merge_up": False} | given
    options = {name: given.pop(name) for name in list(given) if name in names}
    return HybridSearch(
        store=store,
        encoder=encoder,
        count_tokens=lambda text: len(text.split()),
        options=RetrievalOptions(**options),
        calibration=CALIBRATION,
        **given,
    )


def section_named(store: EmbeddedStore, heading: str) -> str:
    """The id of the one section of this heading."""
    documents = [store.document(info.source) for info in store.documents()]
    sections = [section for document in documents for section in document.sections]
    (found,) = [s.node_id for s in sections if s.metadata["heading_path"][-1] == heading]
    return found


def the_step(answer: Answer | Retrieval, name: str) -> Step:
    """Return the last step of that name, which there must be."""
    step = last_step(answer.steps, name)
    assert step is not None, name
    return step
