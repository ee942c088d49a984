"""Train the cross-encoder on a CPU or a GPU, for a number of pairs: its rate falls to nothing at the end.

A checkpoint every few minutes has all that is needed to go on from it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from pipeline.models.onnx import file_fingerprint
from training.data import load_data
from training.examples import Example, Examples, held_out_examples
from training.network import BEGIN_FROM, Pair, Pairs, empty_network, new_network, padded

QUESTIONS_A_STEP = 10
LEARNING_RATE, WARM_UP = 8e-5, 0.05
LARGEST_GRADIENT = 1.0
FROZEN_LAYERS = 2  # of six, and the embeddings: a quarter faster, and little data would bend them
YES_OR_NO = 0.5  # weight of "does it answer?" beside "which one does?": makes scores mean something alone
EVERY_S = 600.0  # between checkpoints
HELD_OUT = 300  # questions
CURVE = "curve.jsonl"


@dataclass(slots=True)
class Run:
    """A training: the network, what it learned by, and how far it is."""

    network: Any
    optimizer: Any
    random: Random
    device: str
    seed: int
    wanted: int  # pairs, in all
    begun_from: str  # the SHA-256 of the model whose weights it began with
    pairs: int = 0
    steps: int = 0
    loss: float = 0.0

    @property
    def progress(self) -> float:
        """How much is done, 0..1."""
        return min(1.0, self.pairs / self.wanted)

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        import torch

        state = {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": self.random.getstate(),
            "torch": torch.get_rng_state(),
            "seed": self.seed,
            "wanted": self.wanted,
            "begun_from": self.begun_from,
            "pairs": self.pairs,
            "steps": self.steps,
            "loss": self.loss,
        }
        unfinished = path.with_suffix(".unfinished")
        torch.save(state, unfinished)
        unfinished.replace(path)


def train(
    folder: Path, *, into: Path, pairs: int, seed: int, model: Path = BEGIN_FROM, resume: Path | None = None
) -> Run:
    """Train on a folder of data, `pairs` in all; checkpoints and the learning curve are written to `into`."""
    data = load_data(folder)
    run = begin(pairs=pairs, seed=seed, model=model, resume=resume)
    encoded, examples = Pairs(), Examples(data, run.random)
    held_out = held_out_examples(data, number=HELD_OUT)
    into.mkdir(parents=True, exist_ok=True)
    last = time.monotonic()
    run.network.train()
    while (progress := run.progress) < 1:
        step(run, examples.draw(QUESTIONS_A_STEP, progress=progress), encoded, progress=progress)
        if time.monotonic() - last >= EVERY_S:
            _record(run, into, first_of(run, held_out, encoded))
            last = time.monotonic()
    _record(run, into, first_of(run, held_out, encoded))
    return run


def begin(*, pairs: int, seed: int, model: Path = BEGIN_FROM, resume: Path | None = None) -> Run:
    """A new training from an exported model's weights, or a checkpoint's, which may be set to another end."""
    import torch

    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = (empty_network() if resume else new_network(seed=seed, model=model)).to(device)
    for part in (network.bert.embeddings, *network.bert.encoder.layer[:FROZEN_LAYERS]):
        part.requires_grad_(False)
    learned = [weight for weight in network.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=LEARNING_RATE, weight_decay=0.01)
    run = Run(network, optimizer, Random(seed), device, seed, pairs, file_fingerprint(model))
    if resume:
        state = torch.load(resume, map_location=device, weights_only=False)  # one of our own
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        run.random.setstate(state["random"])
        torch.set_rng_state(state["torch"].cpu())
        for name in ("seed", "begun_from", "pairs", "steps", "loss"):
            setattr(run, name, state[name])
    return run


def step(run: Run, examples: Sequence[Example], pairs: Pairs, *, progress: float) -> None:
    """Learn from some examples: which passage answers, and whether each does."""
    import torch

    scores = _scores(run, [pairs.encode(one.question, one.passages) for one in examples])
    answers = torch.zeros_like(scores)
    answers[:, 0] = 1
    right = torch.zeros(len(examples), dtype=torch.long, device=run.device)
    loss = torch.nn.functional.cross_entropy(scores, right)
    loss = loss + YES_OR_NO * torch.nn.functional.binary_cross_entropy_with_logits(scores, answers)
    for group in run.optimizer.param_groups:
        group["lr"] = learning_rate(progress)
    run.optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(run.network.parameters(), LARGEST_GRADIENT)
    run.optimizer.step()
    run.steps += 1
    run.pairs += scores.numel()
    run.loss = loss.item() if run.steps == 1 else 0.98 * run.loss + 0.02 * loss.item()


def learning_rate(progress: float) -> float:
    """Rises at the beginning, then falls in a line."""
    return LEARNING_RATE * max(min(progress / WARM_UP, (1 - progress) / (1 - WARM_UP), 1.0), 1e-3)


def _scores(run: Run, groups: Sequence[Sequence[Pair]]) -> Any:
    """Logits, shape (questions, passages); shorter and longer pairs are run apart, to pad less."""
    import torch

    flat = [pair for group in groups for pair in group]
    order = sorted(range(len(flat)), key=lambda place: len(flat[place].ids))
    half = len(order) // 2
    parts = []
    with torch.autocast(run.device, dtype=torch.bfloat16):
        for places in (order[:half], order[half:]):
            inputs = padded([flat[place] for place in places])
            batch = {name: value.to(run.device) for name, value in inputs.items()}
            parts.append(run.network(**batch).logits[:, 0].float())
    back = torch.argsort(torch.tensor(order, device=run.device))
    return torch.cat(parts)[back].view(len(groups), -1)


def first_of(run: Run, examples: Sequence[Example], pairs: Pairs) -> float:
    """In how many of the held-out examples the answer scores highest, 0..1."""
    import torch

    run.network.eval()
    first = 0
    with torch.no_grad():
        for one in examples:
            inputs = padded(pairs.encode(one.question, one.passages))
            scores = run.network(**{name: value.to(run.device) for name, value in inputs.items()}).logits[
                :, 0
            ]
            first += bool((scores[0] > scores[1:]).all())
    run.network.train()
    return first / len(examples)


def _record(run: Run, into: Path, first: float) -> None:
    """A checkpoint and a line of the learning curve."""
    run.save(into / f"checkpoint-{run.pairs}.pt")
    point = {"pairs": run.pairs, "loss": round(run.loss, 3), "first": round(first, 3)}
    with (into / CURVE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(point) + "\n")
