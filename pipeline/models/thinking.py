"""Separates `<think>…</think>` from a streamed answer."""

from __future__ import annotations

import re

OPEN, CLOSE = "<think>", "</think>"
_TAG = re.compile(f"({OPEN}|{CLOSE})")


class ThinkingSplitter:
    """Splits pieces of a stream into answer and thoughts; tags may be cut anywhere between two pieces.

    A tag behind a backtick is text: documentation about models names it so.

    >>> splitter = ThinkingSplitter()
    >>> [splitter.split(piece) for piece in ("<th", "ink>hm</thi", "nk>B", "7 <")], splitter.rest()
    ([('', ''), ('', 'hm'), ('B', ''), ('7 ', '')], ('<', ''))
    """

    def __init__(self) -> None:
        self._waiting = ""  # the possible beginning of a tag
        self._last = ""  # the last character of the answer
        self._inside = False

    def split(self, piece: str) -> tuple[str, str]:
        """Return what a piece adds to the answer and to the thoughts."""
        whole = self._waiting + piece
        end = _end_of_whole(whole)
        self._waiting = whole[end:]
        text, thoughts = list[str](), list[str]()
        for part in _TAG.split(whole[:end]):
            if (part == OPEN and self._last != "`") or (part == CLOSE and self._inside):
                self._inside = part == OPEN
            elif self._inside:
                thoughts.append(part)
            else:
                text.append(part)
                self._last = part[-1:] or self._last
        return "".join(text), "".join(thoughts)

    def rest(self) -> tuple[str, str]:
        """Return what waited for a tag that did not come: to be called at the end of the stream."""
        return ("", self._waiting) if self._inside else (self._waiting, "")


def _end_of_whole(text: str) -> int:
    """Return where the possible beginning of a tag stands at the end of a text; its length without one."""
    start = text.rfind("<", -len(CLOSE))
    if start >= 0 and any(tag != text[start:] and tag.startswith(text[start:]) for tag in (OPEN, CLOSE)):
        return start
    return len(text)
