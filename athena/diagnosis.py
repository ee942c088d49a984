"""`athena doctor`: checks that run one by one, each with what it found and how to fix it."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from athena.reading import language_warning
from athena.stores import keeps_conversations
from pipeline.errors import AthenaError, StoreDamaged
from pipeline.models.base import ModelChoice
from pipeline.stores.base import SearchRequest, SearchResponse
from pipeline.stores.manifest import check_manifest
from pipeline.words import counted

if TYPE_CHECKING:
    from athena.parts import Parts
    from pipeline.stores.embedded.damage import Examination
    from pipeline.stores.neo4j.memories import MemoriesWithGraph

LOW_DISK_MB = 200
SAMPLE_WORDS = 6
FORGET = (
    "Put back a copy of the data folder. Without one, `athena memory forget ID… --yes --user USER` removes "
    "what is damaged, and all else stays."
)
_WORDS = re.compile(r"[^\W\d_]{3,}")
SALVAGE = (
    "Put back a copy of the data folder. Without one, `athena doctor --salvage FOLDER` copies what can be "
    "read into a new folder, and `athena ingest` there restores the documents."
)


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
    if parts.settings.neo4j_url:
        checks.append(_run("graph", lambda: _graph(parts)))
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
    read_only = "" if keeps_conversations(parts.settings) else ", read-only: conversations are not stored"
    detail = f"{data_dir.resolve()}, {free:,} MB free{read_only}"
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
    """The index; of the embedded one also whether all is as it was written, and what is made of it again."""
    index = _run("index", lambda: _index(parts))
    if not index.ok:
        return [index]
    languages = _run("languages", lambda: _languages(parts))
    checks = [index, languages] if languages.detail else [index]
    if parts.settings.store == "server":
        return checks
    try:
        found = parts.embedded_store.examine()
    except AthenaError as error:
        return [*checks, Check("text", False, error.problem, error.fix)]
    return [
        *checks,
        _text(found),
        _run("conversations", lambda: _conversations(parts)),
        _run("memories", lambda: _memories(parts)),
        _run("vectors", lambda: _vectors(parts, found.vectors)),
        _run("words", lambda: _words(parts)),
        _run("search", lambda: _searches(parts)),
    ]


def _text(found: Examination) -> Check:
    if found.text_is_sound:
        return Check("text", True, "as it was written")
    lost = f"damaged: {', '.join(found.documents)}" if found.documents else ""
    return Check("text", False, "; ".join(filter(None, [lost, *found.problems])), SALVAGE)


def _conversations(parts: Parts) -> Check:
    conversations = parts.conversations
    unreadable = []
    for info in conversations.list():
        try:
            conversations.get(info.id)
        except StoreDamaged:
            unreadable.append(info.title or info.id)
    detail = f"cannot be read: {', '.join(unreadable)}" if unreadable else "all can be read"
    return Check("conversations", not unreadable, detail, SALVAGE if unreadable else "")


def _memories(parts: Parts) -> Check:
    unreadable, damaged = [], []
    for user in parts.memories.users():
        try:
            rows = parts.memories.load(user).damaged
            parts.memories.events(user)
        except StoreDamaged:
            unreadable.append(user)
        else:
            damaged += [f"{', '.join(rows)} of {user}"] if rows else []
    if unreadable:
        return Check("memories", False, f"cannot be read: those of {', '.join(unreadable)}", SALVAGE)
    if damaged:
        return Check("memories", False, f"damaged, and left out: {'; '.join(damaged)}", FORGET)
    return Check("memories", True, "as they were written")


def _graph(parts: Parts) -> Check:
    """The graph in Neo4j; one that is behind the store is written anew on the way."""
    memories = cast("MemoriesWithGraph", parts.memories)
    found = memories.examine()
    behind = f"; behind was that of {', '.join(found.behind)}: written anew" if found.behind else ""
    entities, relations = counted(found.entities, "entity"), counted(found.relations, "relation")
    return Check("graph", True, f"{found.server}: {entities}, {relations}, in step with the store{behind}")


def _vectors(parts: Parts, damaged: int) -> Check:
    """Those that are damaged are made again by the search that reads them."""
    if not damaged:
        return Check("vectors", True, "as they were written")
    _sample(parts)
    found = f"those of {counted(damaged, 'section')} were damaged"
    if parts.embedded_store.examine().vectors:
        fix = "Search again when nothing else writes there, as a user who may."
        return Check("vectors", False, f"{found}, and could not be stored again", fix)
    return Check("vectors", True, f"{found}: embedded again from the text")


def _words(parts: Parts) -> Check:
    """An index of words that is damaged is made again on the way."""
    store = parts.embedded_store
    indexed = store.indexed_words()
    stored = {
        "section": sum(info.sections for info in store.sections.documents()),
        "sentence": store.sentences.count(),
    }
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
    return Check("search", bool(found), detail, "" if found else SALVAGE)


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
    counts = {"document": len(documents), "section": sections, "sentence": store.sentences.count()}
    detail = ", ".join(counted(number, noun) for noun, number in counts.items())
    return Check("index", True, f"{detail}, embedded with {stored.embedding_model}")


def _languages(parts: Parts) -> Check:
    """Advice where documents are in a language that the embedding model was not made for, else no detail."""
    return Check(
        "languages", True, " ".join(language_warning(parts.store.sections.languages(), parts.models))
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
