"""The document tree with checkboxes. A collection is an ingested folder, or all uploads.

A path in the tree begins with its collection, since two may have folders of one name: `manuals//systems/`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.stores.globs import literal, written
from pipeline.words import counted
from ui.shared import components, process
from ui.shared.state import kept, sent
from ui.shared.uploading import is_upload

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

View = dict[str, Any]

LISTED = 200  # most folders and documents listed in one folder
FOUND = 50  # most documents listed for a search
UPLOADS = "Uploads"
IN = "//"  # between a collection's name and a folder or document in it


@dataclass(slots=True)
class Unfolded:
    """The paths of the folders that this session has open, by the key of the tree."""

    paths: dict[str, set[str]] = field(default_factory=dict)


def collections(documents: Iterable[DocumentInfo]) -> Mapping[str, Sequence[DocumentInfo]]:
    """Return the documents by collection: by its folder's name, or by its full path if two share the name."""
    by_root: dict[str, list[DocumentInfo]] = {}
    for info in documents:
        by_root.setdefault(info.root, []).append(info)
    athena = process.athena()
    for root in [root for root, found in by_root.items() if is_upload(athena, found[0])]:
        uploaded = by_root.pop(root)
        by_root.setdefault(UPLOADS, []).extend(uploaded)
    names = [Path(root).name for root in by_root]
    named = {root: Path(root).name if names.count(Path(root).name) == 1 else root for root in by_root}
    return {named[root] or root: found for root, found in by_root.items()}


def tree_nodes(documents: Sequence[DocumentInfo], opened: Collection[str], *, query: str = "") -> list[View]:
    """Return the nodes of the tree, with the contents of open folders; for a query, a list of the matches."""
    named = collections(documents)
    if words := query.lower().split():
        every = ((f"{name}{IN}{info.source}", info) for name, inside in named.items() for info in inside)
        texts = ((path, info, f"{info.source} {info.title}".lower()) for path, info in every)
        found = [_leaf(path, info) for path, info, text in texts if all(word in text for word in words)]
        return _listed(found, most=FOUND)
    return [_folder(f"{name}{IN}", name, inside, opened) for name, inside in named.items()]


def _folder(path: str, name: str, inside: Sequence[DocumentInfo], opened: Collection[str]) -> View:
    node: View = {"path": path, "name": name, "about": counted(len(inside), "document")}
    if path not in opened:
        return node
    above = len(path.partition(IN)[2])
    folders: dict[str, list[DocumentInfo]] = {}
    leaves: list[View] = []
    for info in sorted(inside, key=lambda info: info.source):
        first, slash, _ = info.source[above:].partition("/")
        if slash:
            folders.setdefault(first, []).append(info)
        else:
            leaves.append(_leaf(f"{path}{first}", info))
    below = [_folder(f"{path}{one}/", one, found, opened) for one, found in sorted(folders.items())]
    return node | {"nodes": _listed([*below, *leaves], most=LISTED)}


def _leaf(path: str, info: DocumentInfo) -> View:
    return {"path": path, "name": info.title or info.source, "about": info.source.rpartition("/")[2]}


def _listed(nodes: list[View], *, most: int) -> list[View]:
    left = len(nodes) - most
    more = [{"path": "", "name": f"and {left:,} more: search for them"}] if left > 0 else []
    return [*nodes[:most], *more]


def draw_tree(
    key: str,
    documents: Sequence[DocumentInfo],
    ticked: Sequence[str],
    *,
    query: str = "",
    on_tick: Callable[[Sequence[str]], None],
    on_open: Callable[[str], None] | None = None,
) -> None:
    """Draw the tree; `on_tick` gets all ticked paths, `on_open` the source of a clicked document."""
    named = [f"{name}{IN}" for name in collections(documents)]
    opened = kept(Unfolded).paths.setdefault(key, set(named if len(named) == 1 else ()))

    def act() -> None:
        clicked = sent(key, "act")
        path = str(clicked.get("path", ""))
        if clicked.get("act") == "unfold":
            opened.symmetric_difference_update({path})
        elif clicked.get("act") == "open" and on_open:
            on_open(path.partition(IN)[2])

    def tick() -> None:
        if clicked := sent(key, "tick"):
            on_tick([str(path) for path in clicked["paths"]])

    components.tree(
        key=key,
        data={"nodes": tree_nodes(documents, opened, query=query), "ticked": [*ticked]},
        on_tick_change=tick,
        on_act_change=act,
    )


def documents_below(documents: Sequence[DocumentInfo], ticked: Iterable[str]) -> list[DocumentInfo]:
    """Return the documents at and below the ticked paths, each once."""
    named = collections(documents)
    found: dict[str, DocumentInfo] = {}
    for path in ticked:
        name, _, at = path.partition(IN)
        for info in named.get(name, ()):
            if info.source == at or (path.endswith("/") and info.source.startswith(at)):
                found[info.source] = info
    return [*found.values()]


def globs_of(documents: Sequence[DocumentInfo], ticked: Iterable[str]) -> tuple[str, ...]:
    """Return globs that match only the documents at and below the ticked paths; () if that is all or none."""
    chosen = [info.source for info in documents_below(documents, ticked)]
    others = {info.source for info in documents}.difference(chosen)
    return tuple(map(literal, _largest(chosen, others))) if others else ()


def ticked_by(scope: Iterable[str], documents: Sequence[DocumentInfo]) -> list[str]:
    """Return the paths (collections, folders, documents) to tick for a scope that `globs_of` made."""
    paths = {written(glob).rstrip("/") for glob in scope}
    folders = tuple(f"{path}/" for path in paths)
    ticked = list[str]()
    for name, inside in collections(documents).items():
        sources = [info.source for info in inside]
        chosen = [source for source in sources if source in paths or source.startswith(folders)]
        ticked += [f"{name}{IN}{path}" for path in _largest(chosen, {*sources}.difference(chosen))]
    return ticked


def _largest(chosen: Collection[str], others: Collection[str], at: str = "") -> list[str]:
    """Return the largest folders, at or below `at`, with chosen sources only, and the chosen sources left."""
    if not (chosen and others):
        return [at] if chosen else []
    parts: dict[str, tuple[list[str], list[str]]] = {}
    for kind, sources in enumerate((chosen, others)):
        for source in sources:
            below = source[: source.find("/", len(at)) + 1] or source
            parts.setdefault(below, ([], []))[kind].append(source)
    return [path for below, both in parts.items() for path in _largest(*both, below)]
