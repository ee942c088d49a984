"""Everyday English: the words that the bundled model's tokenizer knows whole, the commoner first.

A question's word that is among them is spelt as somebody meant it, whether or not the documents have it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

_TOKENIZER = "bundled/all-MiniLM-L6-v2/tokenizer.json"


def rank(word: str) -> int | None:
    """How common an English word in lower case is, 0 for the commonest; None for one that is not known."""
    return english_words().get(word)


@lru_cache(maxsize=1)
def english_words() -> Mapping[str, int]:
    """Some 21,000 words with their rank: read once, in some 20 ms, and only where a word needs it.

    BERT's vocabulary begins with marks and single letters and goes on by frequency, so the place in it ranks.
    """
    text = (files("pipeline.models") / _TOKENIZER).read_text(encoding="utf-8")
    pieces: Mapping[str, int] = json.loads(text)["model"]["vocab"]
    return {piece: place for piece, place in pieces.items() if piece.isascii() and piece.isalpha()}
