"""Training of the cross-encoder, and its export as int8 ONNX with its recipe."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from pipeline.models.cross_encoder import BUNDLED_MODEL, PAIR_TOKENS
from pipeline.models.onnx import BUNDLED_FOLDER
from training.data import PAIRS, SECTIONS, digest, load_data
from training.examples import Example, draw, held_out_examples, with_negatives
from training.graph import HEADS, LAYERS, WIDTH, Graph, read_weights

log = logging.getLogger(__name__)

QUESTIONS_A_STEP = 10
LEARNING_RATE, WARM_UP = 8e-5, 0.05
LARGEST_GRADIENT = 1.0
FROZEN_LAYERS = 2  # the lowest of six, and the embeddings: a quarter faster, and little data would spoil them
YES_OR_NO = 0.5  # weight of the loss for "does it answer?": makes a single passage's score meaningful
HELD_OUT = 300  # questions
REPORT_EVERY = 100  # steps


@dataclass(frozen=True, slots=True)
class Recipe:
    """The model's inputs, settings and quality (before quantisation); saved next to it as `recipe.json`."""

    model_sha256: str
    begun_from_sha256: str
    data_sha256: str
    licence: str
    seed: int
    pairs: int
    loss: float
    first_of_eight: float  # share of the held-out questions whose answer scores highest
    mrr: float


def train(folder: Path, *, weights: Path, into: Path, pairs: int, seed: int) -> Recipe:
    """Train the embedding model's `weights` on at least `pairs` pairs; save model and recipe in `into`."""
    import torch

    data, random = load_data(folder), Random(seed)
    held_out = data.held_out()
    asked = list(with_negatives(data))
    examples = held_out_examples([a for a in asked if a.pair.repository in held_out], count=HELD_OUT)
    asked = [one for one in asked if one.pair.repository not in held_out]
    network = new_network(weights, seed=seed).to("cuda" if torch.cuda.is_available() else "cpu")
    for part in (network.bert.embeddings, *network.bert.encoder.layer[:FROZEN_LAYERS]):
        part.requires_grad_(False)
    learned = [weight for weight in network.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=LEARNING_RATE, weight_decay=0.01)
    done, steps, loss = 0, 0, 0.0
    network.train()
    while done < pairs:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(done / pairs)
        batch = draw(asked, random, count=QUESTIONS_A_STEP)
        now = step(network, optimizer, batch)
        loss = now if not steps else 0.98 * loss + 0.02 * now
        done, steps = done + sum(len(one.passages) for one in batch), steps + 1
        if steps % REPORT_EVERY == 0:
            log.info("%d pairs, loss %.3f", done, loss)
    model = export(network, into)
    first, mrr = quality(network, examples)
    recipe = Recipe(
        model_sha256=digest(model),
        begun_from_sha256=digest(weights),
        data_sha256=digest(folder / PAIRS, folder / SECTIONS),
        licence="MIT; what it begins from Apache-2.0; sources' licences in training/sources.tsv",
        seed=seed,
        pairs=done,
        loss=round(loss, 4),
        first_of_eight=first,
        mrr=mrr,
    )
    fields = {name: getattr(recipe, name) for name in Recipe.__slots__}
    (into / "recipe.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    return recipe


def new_network(weights: Path, *, seed: int) -> Any:
    """Return a BERT with the embedding model's weights, an identity pooler and a random output layer."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    shape = BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * WIDTH,
        num_labels=1,
    )
    network = BertForSequenceClassification(shape)
    known = {f"bert.{name}": torch.tensor(value) for name, value in read_weights(weights).items()}
    torch.nn.init.eye_(network.bert.pooler.dense.weight)
    network.load_state_dict({k: v for k, v in known.items() if "pooler" not in k}, strict=False)
    return network


def learning_rate(progress: float) -> float:
    """Return the learning rate at `progress` 0..1: linear warm-up, then linear decay to a thousandth."""
    return LEARNING_RATE * max(min(progress / WARM_UP, (1 - progress) / (1 - WARM_UP), 1.0), 1e-3)


def step(network: Any, optimizer: Any, examples: Sequence[Example]) -> float:
    """Take one optimiser step on a batch and return its loss: ranking loss plus weighted yes-or-no loss."""
    import torch

    logits = torch.stack([scores(network, one) for one in examples])
    answers = torch.zeros_like(logits)
    answers[:, 0] = 1
    right = torch.zeros(len(examples), dtype=torch.long, device=logits.device)
    loss = torch.nn.functional.cross_entropy(logits, right)
    loss = loss + YES_OR_NO * torch.nn.functional.binary_cross_entropy_with_logits(logits, answers)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
    optimizer.step()
    return float(loss.item())


def scores(network: Any, example: Example) -> Any:
    """Return the logits of an example's passages, shape (passages,)."""
    import torch

    inputs = {name: torch.tensor(rows) for name, rows in encoded(example).items()}
    device = next(network.parameters()).device
    return network(**{name: rows.to(device) for name, rows in inputs.items()}).logits[:, 0].float()


def encoded(example: Example) -> Mapping[str, list[list[int]]]:
    """Return an example's token ids, types and mask, a row for each passage, as in `cross_encoder.py`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(BUNDLED_FOLDER / "tokenizer.json"))
    tokenizer.enable_truncation(PAIR_TOKENS)
    tokenizer.enable_padding()
    rows = tokenizer.encode_batch([(example.question, passage) for passage in example.passages])
    return {
        "input_ids": [row.ids for row in rows],
        "token_type_ids": [row.type_ids for row in rows],
        "attention_mask": [row.attention_mask for row in rows],
    }


def quality(network: Any, examples: Sequence[Example]) -> tuple[float, float]:
    """Return two values 0..1: the share of examples whose right passage scores highest, and its MRR."""
    import torch

    network.eval()
    with torch.no_grad():
        found = [scores(network, one) for one in examples]
    ranks = [1 + int((logits[1:] >= logits[0]).sum()) for logits in found]
    first = sum(rank == 1 for rank in ranks) / len(ranks)
    return round(first, 4), round(sum(1 / rank for rank in ranks) / len(ranks), 4)


def export(network: Any, into: Path) -> Path:
    """Write the network as int8 ONNX and return the file's path."""
    import onnx

    state = {name: value.detach().cpu().float().numpy() for name, value in network.state_dict().items()}
    weights = {name.removeprefix("bert."): value for name, value in state.items()}
    into.mkdir(parents=True, exist_ok=True)
    path = into / BUNDLED_MODEL.name
    onnx.save(Graph(weights, quantized=True, head=True).model(), path)
    return path
