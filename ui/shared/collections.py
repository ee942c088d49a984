"""Collections of documents as a tree with ticks: each ingested folder, and the uploads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.stores.globs import literal
from pipeline.words import counted
from ui.shared import components, process
from ui.shared.state import kept, sent
from ui.shared.uploading import is_upload

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

View = dict[str, Any]

LISTED = 200  # folders and documents that are listed of one folder
FOUND = 50  # documents that are listed of a search
UPLOADS = "Uploads"


@dataclass(slots=True)
class Unfolded:
    """The folders that this session has open, by tree."""

    paths: dict[str, set[str]] = field(default_factory=dict)


def collections(documents: Iterable[DocumentInfo]) -> Mapping[str, Sequence[DocumentInfo]]:
    """Return the documents by collection: the name of the ingested folder, longer where two share one."""
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
    """Return the tree's nodes, with the contents of open folders; with a query, those it finds."""
    if words := query.lower().split():
        texts = ((info, f"{info.source} {info.title}".lower()) for info in documents)
        found = [info for info, text in texts if all(word in text for word in words)]
        return _listed([_leaf(info) for info in found], most=FOUND)
    return [
        _folder(f"@{name}/", name, inside, opened, at="") for name, inside in collections(documents).items()
    ]


def _folder(
    path: str, name: str, inside: Sequence[DocumentInfo], opened: Collection[str], *, at: str
) -> View:
    """Return a folder or collection; `at` is the path that its documents' sources begin with."""
    node: View = {"path": path, "name": name, "about": counted(len(inside), "document")}
    if path not in opened:
        return node
    folders: dict[str, list[DocumentInfo]] = {}
    files: list[DocumentInfo] = []
    for info in inside:
        first, slash, _ = info.source[len(at) :].partition("/")
        if slash:
            folders.setdefault(f"{at}{first}/", []).append(info)
        else:
            files.append(info)
    below = [_folder(one, one[len(at) : -1], found, opened, at=one) for one, found in sorted(folders.items())]
    leaves = [_leaf(info) for info in sorted(files, key=lambda info: info.source)]
    return node | {"nodes": _listed([*below, *leaves], most=LISTED)}


def _leaf(info: DocumentInfo) -> View:
    return {"path": info.source, "name": info.title or info.source, "about": info.source.rpartition("/")[2]}


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
    named = collections(documents)
    opened = kept(Unfolded).paths.setdefault(
        key, {f"@{name}/" for name in named} if len(named) == 1 else set()
    )

    def act() -> None:
        clicked = sent(key, "act")
        path = str(clicked.get("path", ""))
        if clicked.get("act") == "unfold":
            opened.symmetric_difference_update({path})
        elif clicked.get("act") == "open" and on_open:
            on_open(path)

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
        if path.startswith("@") and path.endswith("/"):
            inside: Iterable[DocumentInfo] = named.get(path[1:-1], ())
        else:
            inside = (
                info
                for info in documents
                if info.source == path or (path.endswith("/") and info.source.startswith(path))
            )
        found |= {info.source: info for info in inside}
    return [*found.values()]


def globs_of(documents: Sequence[DocumentInfo], ticked: Iterable[str]) -> tuple[str, ...]:
    """Return globs that match the documents at and below the ticked paths; () for every document."""
    paths = list(ticked)
    if len(documents_below(documents, paths)) == len(documents):
        return ()
    named, globs = collections(documents), list[str]()
    for path in paths:
        if path.startswith("@") and path.endswith("/"):
            tops = (info.source.partition("/") for info in named.get(path[1:-1], ()))
            globs += [literal(f"{first}{slash}") for first, slash, _ in tops]
        else:
            globs.append(literal(path))
    return tuple(dict.fromkeys(globs))
