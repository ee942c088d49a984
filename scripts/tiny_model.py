"""Write a tiny language model with random weights as GGUF: `python scripts/tiny_model.py FILE`.

Its output is nonsense, but a real Ollama runs it like any other model: protocol tests need no download.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

LAYERS, WIDTH, HEADS, FEED_FORWARD, CONTEXT = 2, 64, 4, 128, 2048
SPECIAL = ["<unk>", "<s>", "</s>"]
LETTERS = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?-'\"()[]/\n"
WORDS = ["▁the", "▁tank", "▁fan", "▁valve", "▁open", "▁is", "▁to", "▁and", "▁of", "▁a"]
STANDARD_DEVIATION = 0.08


def vocabulary() -> tuple[list[str], list[float], list[TokenType]]:
    """Return tokens, scores and types in SentencePiece's form: special tokens, bytes, words, characters."""
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    pieces = [*WORDS, *(letter.replace(" ", "▁") for letter in LETTERS)]
    tokens = [*SPECIAL, *bytes_, *pieces]
    scores = [0.0] * (len(SPECIAL) + 256) + [-float(number) for number in range(len(pieces))]
    types = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL]
    types += [TokenType.BYTE] * 256 + [TokenType.NORMAL] * len(pieces)
    return tokens, scores, types


def write(path: Path) -> None:
    """Write the model to `path`; its weights are the same each time."""
    tokens, scores, types = vocabulary()
    writer = GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    for name, shape in _shapes(len(tokens)).items():
        writer.add_tensor(name, _weights(name, shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _shapes(words: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (words, WIDTH),
        "output_norm.weight": (WIDTH,),
        "output.weight": (words, WIDTH),
    }
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        shapes |= {f"{block}.attn_norm.weight": (WIDTH,), f"{block}.ffn_norm.weight": (WIDTH,)}
        shapes |= {f"{block}.attn_{part}.weight": (WIDTH, WIDTH) for part in ("q", "k", "v", "output")}
        shapes |= {f"{block}.ffn_{part}.weight": (FEED_FORWARD, WIDTH) for part in ("gate", "up")}
        shapes[f"{block}.ffn_down.weight"] = (WIDTH, FEED_FORWARD)
    return shapes


def _weights(name: str, shape: tuple[int, ...]) -> np.ndarray:
    if len(shape) == 1:
        return np.ones(shape, dtype=np.float32)
    seed = int.from_bytes(name.encode()[-8:], "big") + sum(name.encode())
    return (np.random.default_rng(seed).standard_normal(shape) * STANDARD_DEVIATION).astype(np.float32)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/tiny_model.py FILE")
    write(Path(sys.argv[1]))
