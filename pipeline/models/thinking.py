"""Separates `<think>…</think>` from a streamed answer."""

from __future__ import annotations

import re

OPEN, CLOSE = "<think>", "</think>"
_TAG = re.compile(f"({OPEN}|{CLOSE})")
_BEGUN = re.compile(r"</?t?h?i?n?k?\Z")  # what may be the beginning of a tag at the end of a piece


class ThinkingSplitter:
    """Splits pieces of a stream into answer and thoughts; tags may be cut anywhere between two pieces.

    A tag behind a backtick is text: documentation about models names it so.

    >>> splitter = ThinkingSplitter()
    >>> [splitter.split(piece) for piece in ("<th", "ink>hm</thi", "nk>B", "7 <")], splitter.rest()
    ([('', ''), ('', 'hm'), ('B', ''), ('7 ', '')], ('<', ''))
    """

    def __init__(self) -> None:
        self._waiting = ""
        self._last = ""  # the last character of the answer
        self._inside = False

    def split(self, piece: str) -> tuple[str, str]:
        """Return what a piece adds to the answer and to the thoughts."""
        whole = self._waiting + piece
        begun = _BEGUN.search(whole, max(0, len(whole) - len(CLOSE) + 1))
        self._waiting = begun[0] if begun else ""
        text, thoughts = "", ""
        for part in _TAG.split(whole.removesuffix(self._waiting)):
            if (part == OPEN and self._last != "`") or (part == CLOSE and self._inside):
                self._inside = part == OPEN
            elif self._inside:
                thoughts += part
            else:
                text += part
                self._last = part[-1:] or self._last
        return text, thoughts

    def rest(self) -> tuple[str, str]:
        """Return what waited for a tag that did not come: to be called at the end of the stream."""
        return ("", self._waiting) if self._inside else (self._waiting, "")
