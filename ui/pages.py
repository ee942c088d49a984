"""The pages, as data alone: any page may name another by its key, and only `ui/app.py` imports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PageKey = Literal["chat", "mission", "inspector", "documents", "memory", "settings"]


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page of the navigation; its key is also its address."""

    key: PageKey
    title: str
    icon: str
    drawn_by: str  # module:function, imported when the page is shown
    listed: bool = True  # False: only links lead there


PAGES = (
    PageEntry("chat", "Chat", ":material/forum:", ".chat.page:page"),
    PageEntry("mission", "Mission", ":material/rocket_launch:", ".mission.page:page"),
    PageEntry("inspector", "Inspector", ":material/account_tree:", ".inspector.page:page", listed=False),
    PageEntry("documents", "Documents", ":material/library_books:", ".documents.page:page"),
    PageEntry("memory", "Memory", ":material/psychology:", ".memory.page:page"),
    PageEntry("settings", "Settings", ":material/tune:", ".settings.page:page"),
)
