"""`athena pull`: let Ollama download a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.running import err, failing_clearly, out, settings_with


def pull(
    model: Annotated[str, typer.Argument(help="A name of Ollama's library, for example llama3.2.")],
) -> None:
    """Let Ollama download a model, with progress."""
    from pipeline.models.llm import pull_model

    if not model.isprintable() or not model.strip():
        raise typer.BadParameter("no model has such a name")
    with failing_clearly(), err.status("asking Ollama") as shown:
        settings = settings_with(None)
        name, connect_timeout_s = model.removeprefix("ollama/"), settings.connect_timeout_s
        for now in pull_model(name, url=settings.ollama_url, connect_timeout_s=connect_timeout_s):
            shown.update(f"{now.status}: {now.done / 1e6:,.0f} of {now.total / 1e6:,.0f} MB")
    out.print(f"{model} is there.")
