"""Conversations of a file or a folder, in whichever of the formats they are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from evals.conversations.beam import CHAT, QUESTIONS, read_beam
from evals.conversations.locomo import read_locomo
from evals.conversations.records import Conversation
from pipeline.errors import DatasetError
from pipeline.given_files import DATA_BYTES, read_given

DEPTH = 3  # folders down to a chat
_PARTS = re.compile(r"\d+|\D+")
EXPECTED = f"Name a JSON file or a folder of them (LoCoMo), or a folder with N/{CHAT} (BEAM)."


def load_conversations(path: Path) -> list[Conversation]:
    """The conversations below a path, in the order of their names; raises `DatasetError`.

    A file is one of LoCoMo's, or a chat of BEAM's; a folder holds files or chats.
    """
    if path.is_dir():
        chats = [chat for depth in range(DEPTH + 1) for chat in path.glob("*/" * depth + CHAT)]
        files = [file for file in path.glob("*.json") if file.name != CHAT]
    elif path.is_file():
        chats, files = ([path], []) if path.name == CHAT else ([], [path])
    else:
        raise DatasetError(f"There is no '{path}'.", EXPECTED)
    found = [_chat(chat.parent) for chat in _sorted(chats)]
    found += [held for file in _sorted(files) for held in read_locomo(_json(file), path=file)]
    if not found:
        raise DatasetError(f"There is no conversation in '{path}'.", EXPECTED)
    if not any(held.asked for held in found):
        raise DatasetError(f"No question of '{path}' has evidence.", "Give the ids of turns as evidence.")
    return found


def _chat(folder: Path) -> Conversation:
    return read_beam(_json(folder / CHAT), _json(folder / QUESTIONS), folder=folder)


def _json(path: Path) -> Any:
    try:
        return json.loads(read_given(path, most_bytes=DATA_BYTES, encoding="utf-8-sig"))
    except OSError as error:
        raise DatasetError(f"Cannot read '{path}': {error.strerror}.", EXPECTED) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DatasetError(f"'{path}' is not JSON: {error}.", "Mend the file and evaluate again.") from error


def _sorted(paths: list[Path]) -> list[Path]:
    """By name, numbers by their value: 2 before 10."""
    return sorted(set(paths), key=lambda path: [part.zfill(9) for part in _PARTS.findall(str(path))])
