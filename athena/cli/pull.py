"""`athena pull`: a language model for Ollama."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.running import err, failing_clearly, out, settings_with


def pull(
    model: Annotated[str, typer.Argument(help="A name of Ollama's library, as in llama3.2.")],
) -> None:
    """Have Ollama download a language model, with progress; the app uses it as soon as it is there."""
    from athena.cli.progress import download
    from pipeline.models.ollama_pull import pull_model

    with failing_clearly(), download(err) as on_progress:
        settings = settings_with(None)
        pull_model(
            model.removeprefix("ollama/"),
            url=settings.ollama_url,
            connect_timeout_s=settings.connect_timeout_s,
            on_progress=on_progress,
        )
    out.print(f"{model} is there.")
