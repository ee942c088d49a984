"""`athena pull`: let Ollama download a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.running import err, failing_clearly, out, settings_with


def pull(
    model: Annotated[str, typer.Argument(help="A name of Ollama's library, for example llama3.2.")],
) -> None:
    """Let Ollama download a model, with progress."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from pipeline.models.llm import pull_model

    if not model.isprintable() or not model.strip():
        raise typer.BadParameter("no model has such a name")
    with failing_clearly():
        settings = settings_with(None)
        found = pull_model(
            model.removeprefix("ollama/"),
            url=settings.ollama_url,
            connect_timeout_s=settings.connect_timeout_s,
        )
        with Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=err) as bar:
            task = bar.add_task("asking Ollama", total=None)
            for now in found:
                bar.update(task, description=now.status, completed=now.done, total=now.total or None)
    out.print(f"{model} is there.")
