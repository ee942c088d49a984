"""How many tokens a text has: by cl100k, from our own copy, or by the model's tokenizer where it is here."""

from __future__ import annotations

import hashlib
import os
from binascii import a2b_base64
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

CountTokens = Callable[[str], int]

ELLIPSIS = " …"
CL100K_WORDS = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)  # how cl100k takes a text apart before it looks up the pieces
O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"  # o200k_base in tiktoken's cache, and its SHA-256
O200K_HASH = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
COUNTED_TEXTS = 512  # texts whose counts are kept: an answer counts each of its passages three times


@lru_cache(maxsize=1)
def _encoding() -> Encoding:
    """cl100k, from our own copy: tiktoken would download it."""
    import tiktoken

    parts = (files("pipeline.models") / "bundled/cl100k_base.tiktoken").read_bytes().split()
    ranks = dict(zip(map(a2b_base64, parts[::2]), map(int, parts[1::2]), strict=True))
    return tiktoken.Encoding("cl100k", pat_str=CL100K_WORDS, mergeable_ranks=ranks, special_tokens={})


@lru_cache(maxsize=COUNTED_TEXTS)
def count_tokens(text: str) -> int:
    """Tokens of a text by cl100k, which stands for the tokenizers that cannot be had here."""
    return len(_encoding().encode(text, disallowed_special=()))


@lru_cache(maxsize=4)
def counter_for(model: str) -> CountTokens:
    """What counts tokens as a model does, by its full name; `count_tokens` where that is not known here.

    OpenAI's newer models have an encoding that tiktoken downloads: it is used where `TIKTOKEN_CACHE_DIR` has
    it, and never fetched.
    """
    provider, _, name = model.partition("/")
    if provider != "openai":
        return count_tokens
    import tiktoken

    try:
        encoding_name = tiktoken.model.encoding_name_for_model(name)
    except KeyError:
        return count_tokens
    if encoding_name != "o200k_base" or not _is_kept(O200K, O200K_HASH):
        return count_tokens
    encoding = tiktoken.get_encoding(encoding_name)
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def _is_kept(name: str, content_hash: str) -> bool:
    """Whether tiktoken has a file and would not fetch it anew."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", "")
    kept = Path(folder) / name
    if not folder or not kept.is_file():
        return False
    return hashlib.sha256(kept.read_bytes()).hexdigest() == content_hash


def cut_to(text: str, tokens: int) -> str:
    """The text cut at a word, with an ellipsis, so that it has at most so many tokens."""
    encoding = _encoding()
    cut = encoding.decode(encoding.encode(text, disallowed_special=())[: max(1, tokens - 2)])
    whole = cut.rstrip("\ufffd")
    words = (whole.rsplit(maxsplit=1) or [""])[0]
    return (words if len(words) >= len(whole) / 2 else whole) + ELLIPSIS  # not every script has spaces
