"""Options and arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder of the index and conversations.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Conversation = Annotated[str | None, typer.Option(help="Go on with this conversation, by id.")]
PathGlobs = Annotated[
    list[str] | None,
    typer.Option("--path", help="Search only in sources that match this glob, or one of several: repeat it."),
]
Alpha = Annotated[float | None, typer.Option(min=0, max=1, help="0 = BM25 only, 1 = dense only.")]
Hyde = Annotated[bool | None, typer.Option("--hyde/--no-hyde", help="Search with a hypothetical answer")]
Rerank = Annotated[bool | None, typer.Option("--rerank/--no-rerank", help="Rerank with the cross-encoder.")]
Llm = Annotated[str | None, typer.Option("--llm", help="auto, none, ollama/NAME or openai/NAME.")]
User = Annotated[
    str | None, typer.Option("--user", help="Whose conversations and memories; a name, no protection.")
]
Private = Annotated[
    bool, typer.Option("--private", help="Keep nothing: no conversation, no memory, no trace.")
]
