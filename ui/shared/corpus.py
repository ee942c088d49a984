"""What the indexed documents are called: by their index page or their folder, and as manuals or documents."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonpath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ui.shared import process

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

OF_THE_SHIP = "systems/atmosphere-supply.md"  # one of the manuals that come with Athena
INDEX_PAGES = ("index", "readme", "summary", "title-page")  # the best first; mdBook has the last two
WORDLESS = frozenset(INDEX_PAGES) | {"home", "overview", "introduction", "documentation", "contents"}
"""Titles that any index page may have."""
INNER = frozenset(("docs", "doc", "src", "source", "content", "pages", "book", "documentation", "manuals"))
"""Folders that are named by the one around them."""


def documents_are() -> str:
    """What the indexed documents are called."""
    return called(process.athena().store.sections.documents())


def called(documents: Sequence[DocumentInfo]) -> str:
    """What documents are called: "manuals" are the ship's only."""
    return "manuals" if is_the_ships(documents) else "documents"


def is_the_ships(documents: Sequence[DocumentInfo]) -> bool:
    """Whether the manuals that come with Athena are among them."""
    return any(info.source.endswith(OF_THE_SHIP) for info in documents)


def corpus_title(documents: Sequence[DocumentInfo]) -> str:
    """The title of their index page, else the name of their folder; "" where they are from several.

    Uploaded ones do not count.
    """
    ours = process.settings().data_dir.resolve()
    given = [info for info in documents if ours not in Path(info.root).parents]
    roots = {info.root for info in given}
    if len(roots) != 1:
        return ""
    folder = _common_folder([info.source for info in given])
    return _title_of_index(given, folder) or _name(Path(roots.pop(), folder))


def _common_folder(sources: Sequence[str]) -> PurePosixPath:
    folders = [f"/{PurePosixPath(source).parent}" for source in sources]
    return PurePosixPath(commonpath(folders)).relative_to("/")


def _title_of_index(documents: Sequence[DocumentInfo], folder: PurePosixPath) -> str:
    found = {
        page.stem.lower(): info.title
        for info in documents
        if (page := PurePosixPath(info.source)).parent == folder and info.title != page.name
    }
    titles = (found.get(name, "").strip() for name in INDEX_PAGES)
    return next((title for title in titles if title and title.lower() not in WORDLESS), "")


def _name(folder: Path) -> str:
    """The innermost name that is not any folder's."""
    names = [name for name in folder.parts if name.lower() not in INNER and name != folder.anchor]
    return names[-1] if names else ""
