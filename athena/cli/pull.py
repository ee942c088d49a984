"""`athena pull`: have Ollama download a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.running import err, failing_clearly, out, settings_with


def pull(
    model: Annotated[str, typer.Argument(help="A name of Ollama's library, for example llama3.2.")],
) -> None:
    """Have Ollama download a model, with progress."""
    from athena.cli.progress import download
    from pipeline.models.llm import pull_model

    if not model.isprintable() or not model.strip():
        raise typer.BadParameter("no model has such a name")
    with failing_clearly(), download(err) as on_progress:
        settings = settings_with(None)
        pull_model(
            model.removeprefix("ollama/"),
            url=settings.ollama_url,
            connect_timeout_s=settings.connect_timeout_s,
            on_progress=on_progress,
        )
    out.print(f"{model} is there.")
