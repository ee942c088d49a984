"""`athena doctor`: checks that run one by one, each with what it found and how to fix it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from athena.reading import language_warning
from pipeline.errors import AthenaError
from pipeline.models.base import ModelChoice
from pipeline.stores.base import SearchRequest, SearchResponse
from pipeline.stores.manifest import check_manifest
from pipeline.words import counted

if TYPE_CHECKING:
    from athena.parts import Parts

LOW_DISK_MB = 200
SAMPLE_WORDS = 6
_WORDS = re.compile(r"[^\W\d_]{3,}")
RESTORE = "Put back a backup. Without one, index again in a new folder with `athena ingest FOLDER`."


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


def diagnose(parts: Parts) -> Diagnosis:
    """Run every check; one that fails does not keep the others from running."""
    checks = [_run("python", _python), _run("data folder", lambda: _folder(parts))]
    if parts.settings.store == "server":
        checks.append(_run("servers", lambda: _servers(parts)))
    checks += _stored(parts)
    checks += [
        _run("embedding works", lambda: _embeds(parts)),
        _run("model", lambda: _model(parts.models.encoder[1])),
        _run("model", lambda: _model(parts.models.cross_encoder()[1])),
        _run("model", lambda: _model(parts.models.language_model()[1])),
    ]
    if parts.settings.phoenix_url:
        checks.append(_run("tracing", lambda: _tracing(parts)))
    return Diagnosis(all(check.ok for check in checks), tuple(checks))


def _run(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except AthenaError as error:
        return Check(name, False, error.problem, error.fix)


def _python() -> Check:
    return Check("python", True, ".".join(map(str, sys.version_info[:3])))


def _folder(parts: Parts) -> Check:
    data_dir = parts.settings.data_dir
    existing = next(folder for folder in (data_dir, *data_dir.resolve().parents) if _is_there(folder))
    free = shutil.disk_usage(existing).free // 1_000_000
    fix = "" if free >= LOW_DISK_MB else "Free some space, or set ATHENA_DATA_DIR to another disk."
    detail = f"{data_dir.resolve()}, {free:,} MB free"
    return Check("data folder", free >= LOW_DISK_MB, detail, fix)


def _is_there(folder: Path) -> bool:
    try:
        return folder.exists()
    except PermissionError:  # within one that this user may not enter
        return False


def _servers(parts: Parts) -> Check:
    mongodb, weaviate = parts.server_store.versions()
    return Check("servers", True, f"MongoDB {mongodb}, Weaviate {weaviate}")


def _stored(parts: Parts) -> list[Check]:
    """The index; where it is embedded also the file, the index of words and a search."""
    checks = [_run("index", lambda: _index(parts))]
    if checks[0].ok and (languages := _run("languages", lambda: _languages(parts))).detail:
        checks.append(languages)
    if parts.settings.store == "server":
        return checks
    checks.append(_run("file", lambda: _file(parts)))
    if not all(check.ok for check in checks):
        return checks
    return [*checks, _run("words", lambda: _words(parts)), _run("search", lambda: _searches(parts))]


def _file(parts: Parts) -> Check:
    """What SQLite's quick check finds."""
    found = parts.embedded_store.database.check()
    return Check("file", not found, "; ".join(found) or "as it was written", RESTORE if found else "")


def _words(parts: Parts) -> Check:
    """Whether the index of words has every node; it is brought up to date on the way."""
    store = parts.embedded_store
    indexed, found = store.indexed_words(), store.sections.statistics()
    stored = {"section": found.sections, "sentence": found.sentences}
    if indexed != stored:
        detail = f"the index of words has {indexed}, stored are {stored}"
        return Check("words", False, detail, "Wait until nothing else writes there, and search again.")
    return Check("words", True, f"{counted(sum(indexed.values()), 'text')} can be searched for")


def _searches(parts: Parts) -> Check:
    words, response = _sample(parts)
    if not words:
        return Check("search", True, "there are no words to search for")
    lists = (response.bm25_sections, response.dense_sections)
    found = all(lists) and parts.store.sections.get_many([hit.node_id for hits in lists for hit in hits])
    detail = f"“{words}” was {'found' if found else 'not found'}"
    return Check("search", bool(found), detail, "" if found else RESTORE)


def _sample(parts: Parts) -> tuple[str, SearchResponse]:
    """Search for words that are there, by words and by vector."""
    store = parts.store
    texts = (
        section.text
        for info in store.sections.documents()
        for section in store.sections.document(info.source).sections
    )
    found = (_WORDS.findall(text)[:SAMPLE_WORDS] for text in texts)
    words = next((" ".join(some) for some in found if some), "")
    vector = parts.encoder.encode_query(words)
    return words, store.sentences.search(SearchRequest(words, vector, top_k=5))


def _index(parts: Parts) -> Check:
    store = parts.store
    stored = store.sections.manifest()
    documents = store.sections.documents()
    if stored is None or not documents:
        return Check("index", False, "nothing is indexed", "Index a folder with `athena ingest FOLDER`.")
    check_manifest(stored, parts.manifest)
    sections = sum(info.sections for info in documents)
    counts = {
        "document": len(documents),
        "section": sections,
        "sentence": store.sections.statistics().sentences,
    }
    detail = ", ".join(counted(number, noun) for noun, number in counts.items())
    return Check("index", True, f"{detail}, embedded with {stored.embedding_model}")


def _languages(parts: Parts) -> Check:
    """Advice where documents are in a language that the embedding model was not made for, else no detail."""
    return Check(
        "languages",
        True,
        " ".join(language_warning(parts.store.sections.statistics().languages, parts.models)),
    )


def _embeds(parts: Parts) -> Check:
    vector = parts.encoder.encode_query("Does it work?")
    return Check("embedding works", True, f"{parts.encoder.name} gave {len(vector)} dimensions")


def _model(choice: ModelChoice) -> Check:
    detail = f"{choice.name} ({choice.provider}): {choice.detail}" if choice.name else choice.detail
    # Without a cross-encoder or a language model Athena works, if less well: advice, not a fault.
    return Check(choice.role, True, detail, choice.fix)


def _tracing(parts: Parts) -> Check:
    return Check("tracing", True, parts.tracer.check() if parts.tracer else "")
