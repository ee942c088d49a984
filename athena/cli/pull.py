"""`athena pull`: a language model for Ollama, or the cross-encoder that reranks."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.running import err, failing_clearly, opened, out, settings_with
from pipeline.errors import ModelUnavailable

CROSS_ENCODER = "cross-encoder"


def pull(
    model: Annotated[
        str, typer.Argument(help="A name of Ollama's library, as in llama3.2; or: cross-encoder.")
    ],
) -> None:
    """Download a model, with progress. Nothing else downloads any."""
    if not model.isprintable() or not model.strip():
        raise typer.BadParameter("no model has such a name")
    if model == CROSS_ENCODER:
        _pull_cross_encoder()
    else:
        _pull_from_ollama(model)


def _pull_cross_encoder() -> None:
    """What ATHENA_CROSS_ENCODER names; raises where it is switched off or cannot be had."""
    from athena.cli.progress import download

    with opened(None) as athena, download(err) as on_progress:
        found, choice = athena.models.fetch_cross_encoder(on_progress)
        if found is None:
            raise ModelUnavailable(choice.detail, choice.fix)
    out.print(f"{choice.name} is there: {choice.detail}. Searches rerank with it from now on.")


def _pull_from_ollama(model: str) -> None:
    from athena.cli.progress import download
    from pipeline.models.llm import pull_model

    with failing_clearly(), download(err) as on_progress:
        settings = settings_with(None)
        pull_model(
            model.removeprefix("ollama/"),
            url=settings.ollama_url,
            connect_timeout_s=settings.connect_timeout_s,
            on_progress=on_progress,
        )
    out.print(f"{model} is there.")
