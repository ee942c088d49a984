"""Whole characters from a stream: some servers cut one in the middle of its surrogate pair."""

from __future__ import annotations

import codecs


class CharacterJoiner:
    """Joins the halves of surrogate pairs across pieces; a half that stays alone becomes U+FFFD.

    A string with half a pair in it can be neither stored, nor embedded, nor sent to a page.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")(errors="replace")

    def join(self, piece: str) -> str:
        """The piece, less a first half at its end, which comes with the next one."""
        return self._decoder.decode(piece.encode("utf-16-le", "surrogatepass"))
