"""Only these folders and files: the chips above the question, and where more of them are searched for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pipeline.stores.globs import literal, matches, written
from pipeline.words import counted
from ui.conversation import whose
from ui.shared import components, messages, process
from ui.shared.state import kept, sent

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo
    from pipeline.stores.conversations import ConversationInfo

SCOPE = "scope"
NOTHING_THERE = "No document that is indexed is there. Clear it to ask all documents."


@dataclass(slots=True)
class Scoping:
    """The scope of the conversation that the next question begins, and whether one is being chosen."""

    waiting: tuple[str, ...] = ()
    browsing: bool = False


def take_scope() -> tuple[str, ...]:
    """The scope that was chosen for a new conversation; the one after it has none again."""
    scoping = kept(Scoping)
    taken, scoping.waiting = scoping.waiting, ()
    return taken


def scope_bar(info: ConversationInfo | None) -> None:
    """Draw the scope of a conversation, or of the one that begins; its chips can be removed, others added."""
    scoping = kept(Scoping)
    scope = info.scope if info else scoping.waiting
    documents = process.athena().store.sections.documents() if scope or scoping.browsing else ()
    components.scope(
        key=SCOPE,
        data=scope_view(scope, documents, browsing=scoping.browsing),
        on_change_change=lambda: _change(info, scope),
        on_browse_change=_browse,
    )


def scope_view(
    scope: Sequence[str], documents: Sequence[DocumentInfo], *, browsing: bool = False
) -> dict[str, Any]:
    """What the component shows; `options` are there once somebody looks for one."""
    sources = [info.source for info in documents]
    chips = [
        {"glob": glob, "name": written(glob), "gone": not any(matches(source, glob) for source in sources)}
        for glob in scope
    ]
    return {
        "chips": chips,
        "note": NOTHING_THERE if chips and all(chip["gone"] for chip in chips) else "",
        "options": options(documents) if browsing else None,
    }


def options(documents: Iterable[DocumentInfo]) -> list[dict[str, Any]]:
    """Every folder with the number of its files, then every file with its title, each by its path."""
    titles = {info.source: info.title for info in documents}
    folders = Counter(
        f"{parent}/" for source in titles for parent in PurePosixPath(source).parents if parent.name
    )
    return [
        *({"path": path, "about": counted(number, "file")} for path, number in sorted(folders.items())),
        *({"path": path, "about": title} for path, title in sorted(titles.items())),
    ]


def changed(scope: Sequence[str], wanted: dict[str, Any]) -> tuple[str, ...]:
    """The scope with a path added, with a glob removed, or empty."""
    if wanted.get("clear"):
        return ()
    added = [literal(str(wanted["add"]))] if wanted.get("add") else []
    return tuple(dict.fromkeys(glob for glob in (*scope, *added) if glob != wanted.get("remove")))


@messages.noticed
def _change(info: ConversationInfo | None, scope: Sequence[str]) -> None:
    wanted = sent(SCOPE, "change")
    if not wanted:
        return
    now = changed(scope, wanted)
    if info is None:
        kept(Scoping).waiting = now
        return
    whose.store_of(info.id).set_scope(info.id, now)


def _browse() -> None:
    kept(Scoping).browsing = True
