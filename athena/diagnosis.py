"""`athena doctor`: checks that run one by one, each with what it found and what mends it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import AthenaError
from pipeline.models.base import Encoder, ModelChoice
from pipeline.stores.base import DocumentStore, Manifest
from pipeline.stores.manifest import check_manifest

if TYPE_CHECKING:
    from pipeline.stores.server import ServerStore

LOW_DISK_MB = 200


@dataclass(frozen=True, slots=True)
class Check:
    """One check; `fix` may advise although all is well."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What `athena doctor --json` prints; `ok` where every check is."""

    ok: bool
    checks: tuple[Check, ...]


def diagnose(
    *,
    data_dir: Path,
    open_store: Callable[[], DocumentStore],
    manifest: Callable[[], Manifest],
    encoder: Callable[[], Encoder],
    models: Iterable[Callable[[], ModelChoice]],
    servers: Callable[[], ServerStore] | None = None,
    tracing: Callable[[], str] | None = None,
) -> Diagnosis:
    """Run every check; one that fails does not keep the others from running."""
    checks = [
        _check("python", _python),
        _check("data folder", lambda: _folder(data_dir)),
        *(_server_checks(servers) if servers else ()),
        _check("index", lambda: _index(open_store(), manifest())),
        _check("embedding works", lambda: _embeds(encoder())),
        *(_check("model", lambda make=make: _model(make())) for make in models),  # type: ignore[misc]
        *([_check("tracing", lambda: Check("tracing", True, tracing()))] if tracing else ()),
    ]
    return Diagnosis(all(check.ok for check in checks), tuple(checks))


def _check(name: str, run: Callable[[], Check]) -> Check:
    try:
        return run()
    except AthenaError as error:
        return Check(name, False, error.problem, error.fix)


def _python() -> Check:
    return Check("python", True, ".".join(map(str, sys.version_info[:3])))


def _folder(data_dir: Path) -> Check:
    existing = next(folder for folder in (data_dir, *data_dir.resolve().parents) if folder.exists())
    free = shutil.disk_usage(existing).free // 1_000_000
    fix = "" if free >= LOW_DISK_MB else "Free some space, or set ATHENA_DATA_DIR to another disk."
    return Check("data folder", free >= LOW_DISK_MB, f"{data_dir.resolve()}, {free:,} MB free", fix)


def _server_checks(servers: Callable[[], ServerStore]) -> list[Check]:
    answering = _check("servers", lambda: _versions(servers()))
    return [answering, _check("orphans", lambda: _orphans(servers()))] if answering.ok else [answering]


def _versions(store: ServerStore) -> Check:
    versions = store.versions()
    return Check("servers", True, f"MongoDB {versions.mongodb}, Weaviate {versions.weaviate}")


def _orphans(store: ServerStore) -> Check:
    found = store.find_orphans()
    detail = "; ".join(found.lines()) or "none: MongoDB and Weaviate agree"
    fix = "" if found.is_clean else "Remove them with `athena repair`, then run `athena ingest`."
    return Check("orphans", found.is_clean, detail, fix)


def _index(store: DocumentStore, manifest: Manifest) -> Check:
    stored = store.sections.manifest()
    documents = store.sections.documents()
    if stored is None or not documents:
        return Check("index", False, "nothing is indexed", "Index a folder with `athena ingest FOLDER`.")
    check_manifest(stored, manifest)
    sections = sum(info.sections for info in documents)
    sentences = store.sentences.count()
    detail = f"{len(documents):,} documents, {sections:,} sections, {sentences:,} sentences"
    return Check("index", True, f"{detail}, embedded with {stored.embedding_model}")


def _embeds(encoder: Encoder) -> Check:
    vector = encoder.encode_query("Does it work?")
    return Check("embedding works", True, f"{encoder.name} gave {len(vector)} dimensions")


def _model(choice: ModelChoice) -> Check:
    name = choice.role
    detail = f"{choice.name} ({choice.provider}): {choice.detail}" if choice.name else choice.detail
    # Without a cross-encoder or a language model Athena works, if less well: advice, not a fault.
    return Check(name, True, detail, choice.fix)
