"""athena ingest | ask | search | chat | eval | doctor | serve: parse, call one function, print."""

from __future__ import annotations

import gc
import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from athena.settings import Settings
from athena.warming import GARBAGE_THRESHOLD
from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from athena import Athena

app = typer.Typer(
    help="Ask your Markdown documentation, and get answers that cite the exact sentence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
evaluate = typer.Typer(help="Measure retrieval and answers on a folder of questions.", no_args_is_help=True)
app.add_typer(evaluate, name="eval")

SOME_FAILED = 3
"""Exit code where the command did its work, but some files could not be read."""

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


class StoreName(StrEnum):
    """The stores that there are."""

    EMBEDDED = "embedded"
    SERVER = "server"


DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder of the index and conversations.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
PathGlob = Annotated[str | None, typer.Option("--path", help="Search only in sources that match this glob.")]
TopK = Annotated[int | None, typer.Option("--top-k", min=1, help="How many passages.")]
Alpha = Annotated[float | None, typer.Option(min=0, max=1, help="0 = BM25 only, 1 = dense only.")]
Candidates = Annotated[int | None, typer.Option(min=1, help="Length of each candidate list.")]
Hyde = Annotated[bool | None, typer.Option("--hyde/--no-hyde", help="Search with a hypothetical answer")]
Rerank = Annotated[bool | None, typer.Option("--rerank/--no-rerank", help="Rerank with the cross-encoder.")]
Merge = Annotated[float | None, typer.Option("--merge-threshold", min=0, max=1, help="Auto-merge's share.")]
Llm = Annotated[str | None, typer.Option("--llm", help="auto, none, ollama/NAME or openai/NAME.")]
Split = Annotated[str, typer.Option(help="Which qrels: qrels/SPLIT.tsv.")]
Corpus = Annotated[
    Path | None,
    typer.Option(help="Markdown folder as corpus; ids: SOURCE#HEADING > PATH."),
]

Trulens = Annotated[
    str | None,
    typer.Option(metavar="PATH_OR_URL", help="Also record the chat's answers in this TruLens database."),
]


@app.callback()
def _options(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each step to stderr.")] = False,
) -> None:
    level = logging.INFO if verbose else logging.ERROR
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)


@app.command()
def ingest(
    paths: Annotated[list[Path] | None, typer.Argument(help="Folders or files; default: the corpus.")] = None,
    data_dir: DataDir = None,
    rebuild: Annotated[bool, typer.Option(help="Index everything anew.")] = False,
    as_json: AsJson = False,
) -> None:
    """Index Markdown: only what changed is embedded again, what vanished is removed."""
    from athena.cli.terminal import ingest_progress, ingest_text

    with _athena(data_dir) as athena, ingest_progress(err, quiet=as_json) as on_progress:
        report = athena.ingest(paths or [athena.settings.corpus], on_progress=on_progress, rebuild=rebuild)
    _print(as_json, asdict(report), lambda: ingest_text(report))
    if report.problems:
        reached = report.added or report.changed or report.unchanged
        raise typer.Exit(SOME_FAILED if reached else 1)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    top_k: TopK = None,
    path: PathGlob = None,
    why: Annotated[str | None, typer.Option(help="SOURCE#HEADING: what became of this section?")] = None,
    alpha: Alpha = None,
    candidates: Candidates = None,
    merge_threshold: Merge = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find the passages for a question, without answering it."""
    from athena.cli.terminal import search_text, why_text
    from athena.shapes import search_shape, why_shape

    changes = _given(
        top_k=top_k,
        alpha=alpha,
        candidates=candidates,
        simple_ratio_thresh=merge_threshold,
        hyde=_on_off(hyde),
        rerank=rerank,
        llm=llm,
    )
    with _athena(data_dir, **changes) as athena:
        athena.warm_up()
        retrieval = athena.search(query, paths=path)
        reason = athena.why(retrieval, *_section(why)) if why else None
    shape = search_shape(retrieval) | ({"why": why_shape(reason)} if reason else {})
    _print(as_json, shape, lambda: why_text(reason) if reason else search_text(retrieval))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    conversation: Annotated[str | None, typer.Option(help="Go on with this conversation, by id.")] = None,
    path: PathGlob = None,
    llm: Llm = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Answer one question, with citations."""
    from athena.cli.terminal import answer_text, ask_quietly, watch_answer
    from athena.shapes import answer_shape

    with _athena(data_dir, **_given(llm=llm, hyde=_on_off(hyde), rerank=rerank)) as athena:
        athena.warm_up()
        engine = athena.chat(conversation_id=conversation, paths=path)
        answer = ask_quietly(engine, question) if as_json else watch_answer(engine, question, err)
        _print(as_json, answer_shape(answer), lambda: answer_text(answer))  # before traces are waited for


@app.command()
def chat(
    conversation: Annotated[str | None, typer.Option(help="Go on with this conversation, by id.")] = None,
    llm: Llm = None,
    data_dir: DataDir = None,
) -> None:
    """Ask in a conversation; an empty line or Ctrl-D ends it, Ctrl-C stops an answer."""
    from athena.cli.terminal import answer_text, read_question, watch_answer

    with _athena(data_dir, **_given(llm=llm)) as athena:
        engine = athena.chat(conversation_id=conversation)
        err.print(athena.banner(), style="dim")
        while question := read_question(err):
            try:
                answer = watch_answer(engine, question, err)
            except AthenaError as error:
                err.print(f"{error}", style="red", markup=False)
                continue
            out.print(answer_text(answer))


@app.command()
def mission(
    level: Annotated[
        str | None, typer.Argument(help="A level's id or number; default: the next one.")
    ] = None,
    script: Annotated[Path | None, typer.Option(help="Run a file of commands, one a line.")] = None,
    list_levels: Annotated[bool, typer.Option("--list", help="List the levels.")] = False,
    easy: Annotated[bool, typer.Option(help="The assistant may read the telemetry.")] = False,
    seed: Annotated[int, typer.Option(help="Small differences from game to game.")] = 0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Play: alone aboard with a fault, and only the manuals to help. Exit code 0 is a crisis averted."""
    from athena.cli.mission_terminal import levels_text, play_level
    from athena.missions import mission_folder
    from mission.errors import MissionError

    folder = mission_folder(_settings(data_dir))
    try:
        if list_levels:
            from mission.terminal import list_levels as listed

            levels = listed(folder / "progress.json")
            _print(as_json, levels, lambda: levels_text(levels))
            return
        with _athena(data_dir) as athena:
            code = play_level(athena, level, folder=folder, script=script, easy=easy, seed=seed)
    except MissionError as error:
        err.print(f"{error}", style="red", markup=False)
        raise typer.Exit(2) from error
    raise typer.Exit(code)


@evaluate.command("retrieval")
def eval_retrieval(
    folder: Annotated[Path, typer.Argument(help="A folder in BEIR's layout.")],
    split: Split = "test",
    run: Annotated[Path | None, typer.Option(help="Also write the ranking as a TREC run.")] = None,
    corpus: Corpus = None,
    alpha: Alpha = None,
    candidates: Candidates = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rank every question's documents and compare with the judgements."""
    from athena.cli.terminal import counter, metrics_text
    from evals.runs.run import evaluate_retrieval

    changes = _given(alpha=alpha, candidates=candidates, hyde=_on_off(hyde), rerank=rerank, llm=llm)
    with _athena(data_dir, **changes) as athena, counter(err, quiet=as_json) as report:
        result = evaluate_retrieval(athena, folder, split=split, run=run, corpus=corpus, report=report)
    _print(as_json, asdict(result), lambda: metrics_text(result))


@evaluate.command("answers")
def eval_answers(
    folder: Annotated[Path, typer.Argument(help="A folder in BEIR's layout, queries with `answer`.")],
    corpus: Corpus = None,
    trulens: Trulens = None,
    hyde: Hyde = None,
    rerank: Rerank = None,
    llm: Llm = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check whether the quotes hold the answers, and whether abstaining is right."""
    from athena.cli.terminal import counter, metrics_text
    from evals.runs.run import evaluate_answers

    changes = _given(hyde=_on_off(hyde), rerank=rerank, llm=llm)
    with _athena(data_dir, **changes) as athena, counter(err, quiet=as_json) as report:
        result = evaluate_answers(athena, folder, corpus=corpus, trulens=trulens, report=report)
    _print(as_json, asdict(result), lambda: metrics_text(result))


@evaluate.command("dashboard")
def eval_dashboard(
    database: Annotated[str, typer.Argument(metavar="PATH_OR_URL", help="What --trulens recorded into.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8502,
) -> None:
    """Open TruLens' dashboard over recorded answers in a browser."""
    from evals.trulens.dashboard import serve_dashboard

    with _failing_clearly():
        serve_dashboard(database, host=host, port=port)


@app.command()
def doctor(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check that everything works, and say what to do about what does not."""
    from athena.cli.terminal import doctor_text

    with _athena(data_dir) as athena:
        diagnosis = athena.diagnose()
    _print(as_json, asdict(diagnosis), lambda: doctor_text(diagnosis))
    if not diagnosis.ok:
        raise typer.Exit(1)


@app.command()
def pull(
    model: Annotated[str, typer.Argument(help="A name of Ollama's library, as in llama3.2.")],
) -> None:
    """Have Ollama download a language model, with progress; the app uses it as soon as it is there."""
    from athena.cli.terminal import pull_progress
    from pipeline.models.ollama_pull import pull_model

    with _failing_clearly(), pull_progress(err) as on_progress:
        settings = _settings(None)
        pull_model(
            model.removeprefix("ollama/"),
            url=settings.ollama_url,
            connect_timeout_s=settings.connect_timeout_s,
            on_progress=on_progress,
        )
    out.print(f"{model} is there.")


@app.command()
def migrate(
    to: Annotated[StoreName, typer.Option(help="The store that is to have the index and conversations.")],
    force: Annotated[bool, typer.Option(help="Write over documents that read otherwise there.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy the index and all conversations from one store to the other; nothing is embedded again."""
    from athena.cli.terminal import counter, migration_text

    with _athena(data_dir) as athena, counter(err, quiet=as_json) as report:
        done = athena.migrate(to.value, force=force, report=report)
    _print(as_json, asdict(done), lambda: migration_text(done, to.value))


@app.command()
def repair(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Remove from MongoDB and Weaviate what one of them has without the other."""
    from athena.cli.terminal import repair_text

    with _athena(data_dir) as athena:
        removed = athena.repair()
    shape = {"repaired": False} if removed is None else {"repaired": not removed.is_clean, **asdict(removed)}
    _print(as_json, shape, lambda: repair_text(removed))


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; loopback unless told.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port to listen on.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Open the chat in a browser: runs the Streamlit app."""
    from ui.launch import serve as serve_app

    with _failing_clearly():
        serve_app(_settings(data_dir, host=host, port=port))


def main() -> None:
    """The console script."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    app()


@contextmanager
def _athena(data_dir: Path | None, **changes: Any) -> Iterator[Athena]:
    """An open Athena; an error of the tree ends the command with its message and exit code 1."""
    with _failing_clearly():
        from athena import open_athena

        athena = open_athena(_settings(data_dir, **changes))
        try:
            yield athena
        finally:
            athena.close()


@contextmanager
def _failing_clearly() -> Iterator[None]:
    try:
        yield
    except AthenaError as error:
        err.print(f"{error}", style="red", markup=False)
        raise typer.Exit(1) from error
    except KeyboardInterrupt as error:
        err.print("Stopped.", style="dim")
        raise typer.Exit(130) from error


def _settings(data_dir: Path | None, **changes: Any) -> Settings:
    from athena import load_settings

    return load_settings(**_given(data_dir=data_dir, **changes))


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others stay as the settings have them."""
    return {name: value for name, value in options.items() if value is not None}


def _on_off(flag: bool | None) -> str | None:
    return None if flag is None else "on" if flag else "off"


def _section(name: str) -> tuple[str, str]:
    source, mark, heading = name.partition("#")
    if not mark or not heading:
        raise typer.BadParameter("write it as SOURCE#HEADING, as in systems/ecs.md#Cabin fan")
    return source, heading


def _print(as_json: bool, shape: Any, text: Callable[[], Any]) -> None:
    if as_json:
        sys.stdout.write(json.dumps(shape, ensure_ascii=False, default=str) + "\n")
    else:
        out.print(text())


if __name__ == "__main__":
    main()
