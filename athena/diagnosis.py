"""`athena doctor`: checks that run one by one, each with what it found and how to fix it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from athena.watching import check_tracing
from pipeline.errors import AthenaError
from pipeline.models.base import ModelChoice
from pipeline.redaction import Redactor, secrets_in
from pipeline.stores.manifest import check_manifest
from pipeline.words import counted

if TYPE_CHECKING:
    from athena.assistant import Athena

LOW_DISK_MB = 200


@dataclass(frozen=True, slots=True)
class Check:
    """One check; `fix` may hold advice although all is well."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What `athena doctor --json` prints; `ok` where every check is."""

    ok: bool
    checks: tuple[Check, ...]


def diagnose(athena: Athena) -> Diagnosis:
    """Run every check; one that fails does not keep the others from running."""
    checks = [_run("python", _python), _run("data folder", lambda: _folder(athena))]
    if athena.settings.store == "server":
        checks += _servers(athena)
    checks += [
        _run("index", lambda: _index(athena)),
        _run("embedding works", lambda: _embeds(athena)),
        _run("model", lambda: _model(athena.encoder_choice)),
        _run("model", lambda: _model(athena.cross_encoder()[1])),
        _run("model", lambda: _model(athena.language_model()[1])),
    ]
    if weak := Redactor(secrets_in(dict(athena.settings))).weak:
        checks.append(_keys(weak))
    if athena.settings.phoenix_url:
        checks.append(_run("tracing", lambda: _tracing(athena)))
    return Diagnosis(all(check.ok for check in checks), tuple(checks))


def _run(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except AthenaError as error:
        return Check(name, False, error.problem, error.fix)


def _python() -> Check:
    return Check("python", True, ".".join(map(str, sys.version_info[:3])))


def _folder(athena: Athena) -> Check:
    data_dir = athena.settings.data_dir
    existing = next(folder for folder in (data_dir, *data_dir.resolve().parents) if folder.exists())
    free = shutil.disk_usage(existing).free // 1_000_000
    fix = "" if free >= LOW_DISK_MB else "Free some space, or set ATHENA_DATA_DIR to another disk."
    return Check("data folder", free >= LOW_DISK_MB, f"{data_dir.resolve()}, {free:,} MB free", fix)


def _servers(athena: Athena) -> list[Check]:
    answering = _run("servers", lambda: _versions(athena))
    return [answering, _run("orphans", lambda: _orphans(athena))] if answering.ok else [answering]


def _versions(athena: Athena) -> Check:
    versions = athena.server_store.versions()
    return Check("servers", True, f"MongoDB {versions.mongodb}, Weaviate {versions.weaviate}")


def _orphans(athena: Athena) -> Check:
    found = athena.server_store.find_orphans()
    detail = "; ".join(found.lines()) or "none: MongoDB and Weaviate agree"
    fix = "" if found.is_clean else "Remove them with `athena repair`, then run `athena ingest`."
    return Check("orphans", found.is_clean, detail, fix)


def _index(athena: Athena) -> Check:
    store = athena.store
    stored = store.sections.manifest()
    documents = store.sections.documents()
    if stored is None or not documents:
        return Check("index", False, "nothing is indexed", "Index a folder with `athena ingest FOLDER`.")
    check_manifest(stored, athena.manifest)
    sections = sum(info.sections for info in documents)
    counts = {"document": len(documents), "section": sections, "sentence": store.sentences.count()}
    detail = ", ".join(counted(number, noun) for noun, number in counts.items())
    return Check("index", True, f"{detail}, embedded with {stored.embedding_model}")


def _embeds(athena: Athena) -> Check:
    vector = athena.encoder.encode_query("Does it work?")
    return Check("embedding works", True, f"{athena.encoder.name} gave {len(vector)} dimensions")


def _model(choice: ModelChoice) -> Check:
    detail = f"{choice.name} ({choice.provider}): {choice.detail}" if choice.name else choice.detail
    # Without a cross-encoder or a language model Athena works, if less well: advice, not a fault.
    return Check(choice.role, True, detail, choice.fix)


def _keys(weak: int) -> Check:
    detail = f"{counted(weak, 'secret')} of the settings cannot be told from other text"
    return Check("keys", True, detail, "Use long ones with digits: short ones and words may be shown.")


def _tracing(athena: Athena) -> Check:
    return Check("tracing", True, check_tracing(athena.settings.phoenix_url))
