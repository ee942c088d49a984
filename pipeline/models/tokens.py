"""Token counts with cl100k, from the bundled copy, and cutting texts to a number of tokens."""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

CountTokens = Callable[[str], int]

ELLIPSIS = " …"
CL100K_WORDS = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)  # how cl100k splits a text before it looks up the pieces
COUNTED_TEXTS = 512  # cached counts: an answer counts each of its passages three times


@lru_cache(maxsize=1)
def _encoding() -> Encoding:
    """Return cl100k from the bundled copy, which tiktoken would download."""
    import tiktoken

    parts = (files("pipeline.models") / "bundled/cl100k_base.tiktoken").read_bytes().split()
    ranks = dict(zip(map(a2b_base64, parts[::2]), map(int, parts[1::2]), strict=True))
    return tiktoken.Encoding("cl100k", pat_str=CL100K_WORDS, mergeable_ranks=ranks, special_tokens={})


@lru_cache(maxsize=COUNTED_TEXTS)
def count_tokens(text: str) -> int:
    """Return the number of a text's tokens by cl100k, an estimate for models with other tokenizers."""
    return len(_encoding().encode_ordinary(text))


def cut_to(text: str, tokens: int) -> str:
    """Cut a text of more than `tokens` tokens at a word and add " …", to at most `tokens` (3 or more)."""
    encoding = _encoding()
    cut = encoding.decode(encoding.encode_ordinary(text)[: max(1, tokens - 2)])
    whole = cut.rstrip("\ufffd")
    words = (whole.rsplit(maxsplit=1) or [""])[0]
    return (words if len(words) >= len(whole) / 2 else whole) + ELLIPSIS  # not every script has spaces
