"""What is remembered, looked after: `rate`, `reflect`, `plan`, `summarize`, `migrate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from athena.cli.memory.options import memory_of
from athena.cli.memory.texts import memories_text
from athena.cli.options import AsJson, DataDir, Llm, User
from athena.cli.running import show

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory


def rate(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID…]", help="Only these.")] = None,
    llm: Llm = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rate how much memories matter, 1 to 10, with the reason."""
    from memory.deciding import upkeep

    _upkeep(user, data_dir, llm, as_json, lambda memory: upkeep.rate(memory, ids or ()))


def reflect(llm: Llm = None, user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Make an insight of the latest memories; needs a language model."""
    from memory.deciding import upkeep

    _upkeep(user, data_dir, llm, as_json, upkeep.reflect)


def plan(llm: Llm = None, user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Make a plan for the rest of the day of what matters most; needs a language model."""
    from memory.deciding import upkeep

    _upkeep(user, data_dir, llm, as_json, upkeep.plan)


def summarize(llm: Llm = None, user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Put two lines in the place of the five memories that matter least."""
    from memory.deciding import upkeep

    _upkeep(user, data_dir, llm, as_json, upkeep.summarize)


def migrate(user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Move the oldest short-term memories that matter to long-term memory."""
    from memory.deciding import upkeep

    _upkeep(user, data_dir, None, as_json, upkeep.migrate)


def _upkeep(
    user: str | None,
    data_dir: Path | None,
    llm: str | None,
    as_json: bool,
    work: Callable[[UserMemory], Sequence[Memory]],
) -> None:
    from memory.shapes import memory_shape

    with memory_of(user, data_dir, llm=llm) as memory:
        done = work(memory)
        shape = {"memories": [memory_shape(item) for item in done]}
        show(as_json, shape, lambda: memories_text(done, nothing="Nothing to do."))
