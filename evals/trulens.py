"""Record answers in a TruLens database, judge them with TruLens' feedback functions, and show its dashboard.

A database is a SQLite file. TruLens is an extra and is imported only here; it makes its own OpenTelemetry
tracer provider the global one of the process.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.datasets import Question
from evals.judging import Heard, text_seen
from evals.metrics import mean
from pipeline.answer import Message
from pipeline.answering.citations import sentences_of, without_markers
from pipeline.errors import ConfigurationError, ModelUnavailable
from pipeline.models.generation import complete

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.models.clients import LanguageModel

METRICS = ("context_relevance", "groundedness", "answer_relevance")
JUDGED_PASSAGES = 3  # each is one call of the model
JUDGE_TIMEOUT_S = 300.0
REQUESTS_A_MINUTE = 6000.0  # with its default TruLens waits between requests
log = logging.getLogger(__name__)


class RecordedAssistant:
    """An existing answer in the form of an app, so that TruLens can record it.

    TruLens writes an app's attributes into its database, so this one holds neither settings nor keys.
    """

    def __init__(self) -> None:
        self.contexts: list[str] = []
        self.text = ""

    def answer(self, question: str) -> str:
        """Return the answer's text; first call `retrieve`, which TruLens records."""
        self.retrieve(question)
        return self.text

    def retrieve(self, question: str) -> list[str]:  # noqa: ARG002 - TruLens records it
        """Return the texts of the passages, best first."""
        return self.contexts


class Recorder:
    """Writes answers and, if there is a judge, its scores into an open TruLens session."""

    def __init__(self, session: Any, athena: Athena, *, dataset: str, llm: LanguageModel | None) -> None:
        from trulens.apps.app import TruApp

        settings = athena.options.model_dump() | {"embedding_model": athena.encoder.name}
        self._session, self._dataset, self._llm = session, dataset, llm
        self._assistant = RecordedAssistant()
        self._app: Any = TruApp(
            self._assistant,
            main_method=self._assistant.answer,
            app_name=f"Athena on {dataset}",
            app_version=version_of(athena.models.language_model()[1].name, settings),
            metadata=settings,
        )

    def record(self, heard: Iterable[tuple[Question, Heard]]) -> dict[str, float] | None:
        """Record each answer; return the mean of each judged metric, 0..1, or None without a judge."""
        scores: dict[str, list[float]] = {name: [] for name in METRICS}
        for query, item in heard:
            self._assistant.contexts = [passage.node.text for passage in item.retrieval.passages]
            self._assistant.text = text_seen(item)
            record = self._recorded(query)
            if self._llm is not None and self._assistant.text and self._assistant.contexts:
                found = judged(self._llm, query.text, self._assistant.contexts, self._assistant.text)
                self._add(record, found)
                for name, value in found.items():
                    scores[name].append(value)
        return {name: mean(values) for name, values in scores.items()} if self._llm else None

    def _recorded(self, query: Question) -> Any:
        from trulens.core.otel.instrument import OtelRecordingContext

        context = OtelRecordingContext(
            tru_app=self._app,
            app_name=self._app.app_name,
            app_version=self._app.app_version,
            run_name=self._dataset,
            input_id=query.id,
            ground_truth_output=query.reference or query.answer,
        )
        with context as recording:
            self._assistant.answer(query.text)
        return recording.get()

    def _add(self, record: Any, scores: Mapping[str, float]) -> None:
        """Store the scores of a recorded answer as TruLens metrics."""
        from trulens.core import Metric, Selector

        output = {"output": Selector.select_record_output()}
        metrics = [
            Metric(implementation=_constant(value), name=name, higher_is_better=True, selectors=output)
            for name, value in scores.items()
        ]
        self._session.force_flush()
        events = self._session.get_events(None, None, record_ids=[record.record_id])
        self._session.compute_feedbacks_on_events(events, metrics, True)
        self._session.force_flush()


def _constant(value: float) -> Callable[[str], float]:
    def implementation(output: str) -> float:  # noqa: ARG001 - TruLens passes arguments by name
        return value

    return implementation


def judged(llm: LanguageModel, question: str, contexts: Sequence[str], answer: str) -> dict[str, float]:
    """Let a language model judge one answer, and return TruLens' three feedback scores, each 0..1.

    Context relevance is the mean over the first passages, groundedness the mean over the answer's sentences.
    A metric is left out if the model's reply has no score.
    """
    from trulens.core.feedback.feedback import GroundednessConfigs
    from trulens.feedback.generated import ParseError

    provider = _provider(llm)
    source, first = "\n\n".join(contexts), contexts[:JUDGED_PASSAGES]
    config = GroundednessConfigs(use_sent_tokenize=False, filter_trivial_statements=False)
    measure = provider.groundedness_measure_with_cot_reasons
    calls: dict[str, Callable[[], float]] = {
        "context_relevance": lambda: mean([provider.context_relevance(question, one) for one in first]),
        "groundedness": lambda: measure(source, answer, groundedness_configs=config)[0],
        "answer_relevance": lambda: provider.relevance(question, answer),
    }
    found = {}
    for name, call in calls.items():
        try:
            score = float(call())
        except ParseError as error:
            log.warning("the judge's reply has no score for %s: %s", name, str(error).splitlines()[0])
            continue
        if 0 <= score <= 1:  # TruLens returns -1 for a reply without a score
            found[name] = score
    return found


def _provider(llm: LanguageModel) -> Any:
    """Return a TruLens feedback provider that uses our client and splits answers into sentences itself.

    For the splitting TruLens would download a tokenizer or ask the model.
    """
    from trulens.core.feedback.endpoint import Endpoint
    from trulens.feedback.llm_provider import LLMProvider
    from trulens.feedback.templates.rag import Groundedness

    class AthenaProvider(LLMProvider):  # type: ignore[misc]  # TruLens has no types
        """A provider that asks a model of Ollama or of an OpenAI-compatible server."""

        def _create_chat_completion(
            self,
            prompt: str | None = None,
            messages: Sequence[Mapping[str, Any]] | None = None,
            response_format: Any = None,
            **_: Any,
        ) -> str:
            asked = [Message(one["role"], one["content"]) for one in messages or ()]
            if asked and asked[0].text == Groundedness.sentences_splitter_prompt:
                answer = asked[1].text
                sentences = (answer[one.start : one.end] for one in sentences_of(answer))
                return "\n".join(map(without_markers, sentences))
            schema = response_format.model_json_schema() if response_format else None
            return complete(llm, prompt or asked, timeout_s=JUDGE_TIMEOUT_S, json_schema=schema)

    endpoint = Endpoint(name="athena", rpm=REQUESTS_A_MINUTE)
    return AthenaProvider(model_engine=llm.server.name, endpoint=endpoint)


@contextmanager
def open_recorder(
    database: str, athena: Athena, *, dataset: str, judge: str | None = None
) -> Iterator[Recorder]:
    """Open a recorder for a TruLens database; `judge` is `ollama/NAME` or `openai/NAME`.

    TruLens prints to stderr, so that stdout holds the command's output alone.

    Raises:
        ConfigurationError: TruLens is not installed, or the database cannot be opened.
        ModelError: the judge cannot be asked.
    """
    llm = None
    if judge:
        llm, choice = athena.models.language_model(judge)
        if llm is None:
            raise ModelUnavailable(f"'{judge}' cannot judge: {choice.detail.rstrip('.')}.", choice.fix)
    with redirect_stdout(sys.stderr):
        session = _open(database)
        try:
            _instrument()
            yield Recorder(session, athena, dataset=dataset, llm=llm)
        finally:
            session.force_flush()
            # The tracer provider outlives the session: it must not write on into this database.
            session.experimental_otel_exporter.disable()
            type(session).delete_singleton(type(session))


def version_of(model: str, settings: Mapping[str, Any]) -> str:
    """Return the name of a configuration: the model, or "quotes", and a digest of the settings."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()
    return f"{model or 'quotes'} {digest[:6]}"


def _instrument() -> None:
    """Let TruLens record `retrieve` as a span within each answer; a second call changes nothing."""
    from trulens.core.otel.instrument import instrument_method
    from trulens.otel.semconv.trace import SpanAttributes

    names = SpanAttributes.RETRIEVAL

    def attributes(found: Any, _error: Any, *_: Any, question: str = "", **_given: Any) -> dict[str, Any]:
        return {names.QUERY_TEXT: question, names.RETRIEVED_CONTEXTS: found or []}

    kind = SpanAttributes.SpanType.RETRIEVAL
    given: Any = attributes  # TruLens declares other arguments than it passes
    instrument_method(RecordedAssistant, "retrieve", span_type=kind, attributes=given)


def _open(database: str) -> Any:
    """Return TruLens' session for a SQLite file, which is created if missing; raise `ConfigurationError`."""
    path = Path(database).expanduser().absolute()
    try:
        import trulens.feedback  # noqa: F401 - stores feedback
        from sqlalchemy.exc import SQLAlchemyError
        from trulens.core.database.exceptions import DatabaseVersionException
        from trulens.core.session import TruSession
    except ModuleNotFoundError as error:
        raise _not_installed(error) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        session: Any = TruSession(database_url=f"sqlite:///{path}")
        session.connector.db.check_db_revision()
    except (OSError, SQLAlchemyError, DatabaseVersionException) as error:
        raise ConfigurationError(
            f"Cannot open the TruLens database '{path}': {str(error).splitlines()[0]}.",
            "Name a new file, or a database of this version of TruLens.",
        ) from error
    return session


def _not_installed(error: ModuleNotFoundError) -> ConfigurationError:
    return ConfigurationError(
        f"TruLens needs the package '{error.name}', which is not installed.",
        "Install the extra: `pip install 'athena-docs[trulens]'`.",
    )


def serve_dashboard(database: str, *, host: str, port: int) -> None:
    """Replace this process by the dashboard's server; raise `ConfigurationError` if TruLens is missing.

    TruLens' own command is no use: it waits for a line that Streamlit prints only if it listens everywhere.
    """
    try:
        import trulens.dashboard as dashboard
    except ModuleNotFoundError as error:
        raise _not_installed(error) from error
    page = Path(str(dashboard.__file__)).with_name("main.py")
    # Without browser.serverAddress Streamlit asks the internet for its own address.
    options = {"server.headless": "true", "server.fileWatcherType": "none", "server.address": host}
    options |= {
        "server.port": str(port),
        "browser.serverAddress": "127.0.0.1",
        "browser.gatherUsageStats": "false",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    url = f"sqlite:///{Path(database).expanduser().absolute()}"
    command = [sys.executable, "-m", "streamlit", "run", str(page), *flags, "--", "--database-url", url]
    os.execv(sys.executable, command)  # noqa: S606 - no child that could outlive this process
