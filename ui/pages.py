"""The list of pages. A new page is a folder with `page.py`, which defines `page()`, and a line here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page of the navigation; its key is its address and its folder in `ui/`."""

    key: str
    title: str
    icon: str
    listed: bool = True  # False: only links lead there


PAGES = (
    PageEntry("chat", "Chat", ":material/forum:"),
    PageEntry("documents", "Documents", ":material/library_books:"),
    PageEntry("memory", "Memory", ":material/psychology:"),
    PageEntry("settings", "Settings", ":material/tune:"),
    PageEntry("mission", "Mission", ":material/rocket_launch:"),
    PageEntry("inspector", "Inspector", ":material/account_tree:", listed=False),
)
