"""The chat engine's answers as records of a TruLens database, with feedback computed in plain Python.

A database is a file of SQLite, or another by its SQLAlchemy URL. TruLens is an extra and is imported only
when something is recorded or shown.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from contextvars import copy_context
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from evals.datasets import Question
from evals.feedback import CANNOT_SEE, Asked, contexts, feedback_on, until_answered, until_found
from evals.indexing import Report
from evals.judging import Heard, Judged, heard_of, judge
from pipeline.answer import Answer, Retrieval
from pipeline.errors import ConfigurationError
from pipeline.messages import Message
from pipeline.redaction import hide
from pipeline.steps.events import ChatEvent

if TYPE_CHECKING:
    from athena import Athena

Ask = Callable[[Question, Event], Iterator[ChatEvent]]
DASHBOARD: dict[str, bool | str | int] = {
    "server.headless": True,
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "viewer",
    "global.disableWidgetStateDuplicationWarning": True,
}


class Assistant:
    """The chat engine as TruLens sees it: a question in, the answer's text out.

    TruLens writes an app's attributes into its database. These hold neither settings nor keys.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._events: Iterator[ChatEvent] = iter(())
        self._retrieval: Retrieval
        self._answer: Answer
        self.searched = ""  # the question as it was searched for: its history is in it

    def asked(self, query: Question) -> Asked:
        """One question's run, to be called within a recording."""
        stop = Event()
        self._events = self._ask(query, stop)
        # Not in this thread: TruLens' wrappers swallow a Ctrl-C that reaches them.
        with ThreadPoolExecutor(1) as thread:
            try:
                thread.submit(copy_context().run, self.answer, query.text).result()
            except KeyboardInterrupt:
                stop.set()
                raise
        return Asked(query, self._retrieval, self._answer)

    def answer(self, question: str) -> str:
        """The record: the whole answer's text."""
        self.searched = question
        self.retrieve()
        return self.write()

    def retrieve(self) -> list[str]:
        """The texts of the passages found, best first."""
        self._retrieval = until_found(self._events)
        self.searched = self._retrieval.question
        return contexts(self._retrieval)

    def write(self) -> str:
        """The answer's text, from what was found."""
        self._answer = until_answered(self._events)
        return self._answer.text


class Recorder:
    """Asks questions and writes each answer, with its feedback, into the open database."""

    def __init__(self, session: Any, dataset: str) -> None:
        self._session = session
        self._dataset = dataset

    def judge_answers(
        self,
        queries: Sequence[Question],
        *,
        athena: Athena,
        scoring: Callable[[Question, Heard, float], Judged] = judge,
        report: Report | None = None,
    ) -> list[Judged]:
        """Ask, record and judge every question; what was recorded stays, whatever ends this early.

        A question's time is that of its whole answer; of its feedback and of recording it, nothing.
        """
        assistant = Assistant(lambda query, stop: _run(athena, query, stop))
        tru_app = self._app(assistant, athena)
        judgements = []
        for done, query in enumerate(queries, start=1):
            started = time.perf_counter()
            with _recording(tru_app, query, run=self._dataset) as recording:
                asked = assistant.asked(query)
            ms = (time.perf_counter() - started) * 1000
            values = feedback_on(
                asked,
                encoder=athena.encoder,
                text_of=lambda source: athena.store.sections.document(source).text,
            )
            self._add_metrics(recording.get(), values)
            judgements.append(scoring(query, heard_of(athena, asked.retrieval, asked.answer), ms))
            if report:
                report(done, len(queries))
        return judgements

    def _app(self, assistant: Assistant, athena: Athena) -> Any:
        from trulens.apps.app import TruApp

        settings = athena.options.model_dump() | {"embedding_model": athena.encoder.name}
        cannot_see = "; ".join(f"{name}: {what}" for name, what in CANNOT_SEE.items())
        return TruApp(
            assistant,
            main_method=assistant.answer,
            app_name=f"Athena on {self._dataset}",
            app_version=version_of(athena.models.language_model()[1].name, settings),
            metadata=settings | {"what the scores cannot see": cannot_see},
        )

    def _add_metrics(self, record: Any, values: Mapping[str, float]) -> None:
        """Write what was found out of an answer beside its record, as TruLens' metrics of it."""
        from trulens.core import Metric, Selector

        output = {"output": Selector.select_record_output()}
        metrics = [
            Metric(implementation=_known(value), name=name, higher_is_better=True, selectors=output)
            for name, value in values.items()
        ]
        self._session.force_flush()
        events = self._session.get_events(None, None, record_ids=[record.record_id])
        self._session.compute_feedbacks_on_events(events, metrics, True)
        self._session.force_flush()


def _known(value: float) -> Callable[[str], float]:
    """A metric whose value is known already."""

    def implementation(output: str) -> float:  # noqa: ARG001  (TruLens fills in arguments by their names)
        return value

    return implementation


@contextmanager
def open_recorder(database: str, *, dataset: str) -> Iterator[Recorder]:
    """A recorder into a TruLens database, given by path or URL.

    What TruLens prints goes to stderr, so that stdout stays the command's own. Raises `ConfigurationError`
    where the extra is not installed or the database cannot be opened.
    """
    with redirect_stdout(sys.stderr), open_session(database) as session:
        _instrument()
        yield Recorder(session, dataset)


def version_of(model: str, settings: Mapping[str, Any]) -> str:
    """A configuration's name: records of the same one stand together, those of another beside them."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()
    return f"{model or 'quotes'} {digest[:6]}"


def _instrument() -> None:
    """The assistant's two steps become spans of their own below the record; twice does no harm."""
    from trulens.core.otel.instrument import instrument_method
    from trulens.otel.semconv.trace import SpanAttributes

    kind = SpanAttributes.SpanType.RETRIEVAL
    attributes: Any = _retrieval_attributes  # TruLens' own types ask for other arguments than it gives
    instrument_method(Assistant, "retrieve", span_type=kind, attributes=attributes)
    instrument_method(Assistant, "write")


def _retrieval_attributes(
    found: list[str] | None, _error: Exception | None, assistant: Assistant
) -> dict[str, Any]:
    from trulens.otel.semconv.trace import SpanAttributes

    names = SpanAttributes.RETRIEVAL
    return {names.QUERY_TEXT: assistant.searched, names.RETRIEVED_CONTEXTS: found or []}


def _recording(tru_app: Any, query: Question, *, run: str) -> Any:
    from trulens.core.otel.instrument import OtelRecordingContext

    return OtelRecordingContext(
        tru_app=tru_app,
        app_name=tru_app.app_name,
        app_version=tru_app.app_version,
        run_name=run,
        input_id=query.id,
        ground_truth_output=query.answer,
    )


def _run(athena: Athena, query: Question, stop: Event) -> Iterator[ChatEvent]:
    """The question as a new conversation, after what was said before it."""
    said = [Message(turn.role, turn.text) for turn in query.history]
    return athena.chat().run(query.text, stop=stop, history=said)


# -- the database and its pages -----------------------------------------------------------------------


@contextmanager
def open_session(database: str) -> Iterator[Any]:
    """TruLens' session over the database, which is made where there is none; one at a time.

    It records spans of OpenTelemetry, and for that TruLens makes its own tracer provider the process's
    global one, for good. Raises `ConfigurationError`.
    """
    hide({"database_url": database})
    session = _open(database_url(database))
    try:
        yield session
    finally:
        session.force_flush()
        # The tracer provider outlives the session: it must not write on into this database.
        session.experimental_otel_exporter.disable()
        type(session).delete_singleton(type(session))


def database_url(database: str) -> str:
    """SQLAlchemy's URL of a database that is given as one or as a file's path; makes the file's folder."""
    if "://" in database:
        return database
    path = Path(database).expanduser().absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot make the folder of '{database}': {error.strerror}.", "Name a file that can be written."
        ) from error
    return f"sqlite:///{path}"


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    return re.sub(r"(://[^/@]*:)[^/]*@", r"\1***@", url)


def not_installed(error: ModuleNotFoundError) -> ConfigurationError:
    """What to say where TruLens or a part of it is missing."""
    return ConfigurationError(
        f"TruLens needs the package '{error.name}', which is not installed.",
        "Install the extra: `pip install 'athena-docs[trulens]'`.",
    )


def _open(url: str) -> Any:
    try:
        import trulens.feedback  # noqa: F401  (what stores a feedback is in it)
        from sqlalchemy.exc import SQLAlchemyError
        from trulens.core.database.exceptions import DatabaseVersionException
        from trulens.core.session import TruSession
    except ModuleNotFoundError as error:
        raise not_installed(error) from error
    try:
        session: Any = TruSession(database_url=url)
        session.connector.db.check_db_revision()
    except (SQLAlchemyError, DatabaseVersionException, ModuleNotFoundError) as error:
        raise ConfigurationError(
            f"Cannot open the TruLens database '{without_password(url)}': {str(error).splitlines()[0]}.",
            "Name a file that is new or of this TruLens, or the URL of a database whose driver is installed.",
        ) from error
    return session


def serve_dashboard(database: str, *, host: str, port: int) -> None:
    """Serve the dashboard until it is interrupted; raises `ConfigurationError` where TruLens is missing.

    Not by TruLens' own command: that waits for a line which Streamlit prints only where it listens on all
    addresses, and without it gives up.
    """
    try:
        import trulens.dashboard as dashboard
    except ModuleNotFoundError as error:
        raise not_installed(error) from error
    from streamlit import config
    from streamlit.web import bootstrap

    page = str(Path(str(dashboard.__file__)).with_name("main.py"))
    # The address to show is given, or Streamlit asks the internet for one.
    given = DASHBOARD | {"server.address": host, "server.port": port, "browser.serverAddress": host}
    options = {name.replace(".", "_"): value for name, value in given.items()}
    config._main_script_path = page
    bootstrap.load_config_options(options)
    bootstrap.run(page, False, ["--database-url", database_url(database)], options)
