"""Settings that are changed while Athena runs: checked, tried before they are kept, kept, and used.

For the Settings page. The index stays open all the while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from athena import searching
from athena.chosen import Chosen, read_chosen, write_chosen
from athena.loading import KEY, KEYS_SERVER, part, with_chosen
from athena.models import Models
from athena.settings import Settings
from pipeline.answering.persona import load_persona
from pipeline.errors import AthenaError, ConfigurationError, ModelError
from pipeline.models.llm import require_model_name
from pipeline.options import ChatOptions, PriceOptions, is_server_address
from pipeline.redaction import without_password
from pipeline.steps.events import AnswerFinished, RunFailed
from pipeline.stores.private import PrivateConversations

if TYPE_CHECKING:
    from athena.parts import Parts
    from pipeline.answer import Answer
    from pipeline.messages import Message
    from pipeline.stores.globs import Globs

Changes = Mapping[str, Any]
"""New values by the settings' names; None takes a choice back."""

CHOOSE_OTHERWISE = "Choose another value, or reset it."
ADDRESSES = {"ollama_url": "http://localhost:11434", "openai_base_url": "http://localhost:8000/v1"}
"""The settings that are servers' addresses, with one that could be theirs."""
WORD = "Answer with the one word: ready"
WORD_TIMEOUT_S = 60.0  # a model may have to be loaded first

_one_at_a_time = threading.Lock()  # a change reads the file, and writes it


def drafted(settings: Settings, changes: Changes) -> Settings:
    """The settings with some choices changed, checked as those of the environment are.

    Raises `ConfigurationError`.
    """
    return _drafted(settings, _chosen_after(settings, changes))


def change(parts: Parts, changes: Changes) -> Settings:
    """Keep changed choices in the data folder, and use them from the next question on.

    Raises `ConfigurationError`, also where the data folder can only be read; then nothing has changed.
    """
    with _one_at_a_time:
        chosen = _chosen_after(parts.settings, changes)
        settings = _drafted(parts.settings, chosen)
        write_chosen(settings.data_dir, chosen)
        parts.use(settings)
    return settings


def _chosen_after(settings: Settings, changes: Changes) -> Chosen:
    """The choices after a change; a key goes to no other server than the one that it was chosen for."""
    for name, value in changes.items():
        require_workable(name, value)
    before = read_chosen(settings.data_dir)
    chosen = {**before, **changes}
    if KEY not in changes and chosen.get(KEYS_SERVER) != before.get(KEYS_SERVER):
        chosen.pop(KEY, None)
    return {name: value for name, value in chosen.items() if value is not None}


def _drafted(settings: Settings, chosen: Chosen) -> Settings:
    made = with_chosen(settings, chosen, fix=CHOOSE_OTHERWISE)
    require_model_name(made.llm)
    load_persona(made.persona)
    return made


def require_workable(name: str, value: object) -> None:
    """Nothing; raises `ConfigurationError` for a new value that could never work; asks no server."""
    if name == "llm" and value:
        require_model_name(str(value))
    if name in ADDRESSES and value and not is_server_address(str(value)):
        raise ConfigurationError(
            f"ATHENA_{name.upper()} cannot be '{without_password(str(value))}': that is no address.",
            f"Give it with its scheme, as {ADDRESSES[name]} is.",
        )


class Ask(Protocol):
    """Answers that nothing is kept of, without memory."""

    def __call__(
        self, question: str, /, *, history: Sequence[Message] = (), paths: Globs | None = None
    ) -> Answer:
        """The answer to a question after a history; raises what ends an answer."""


def asking_with(parts: Parts, settings: Settings, *, traced: bool = False) -> Ask:
    """What answers with these settings over the same index; `traced` where traces are sent."""
    from pipeline.answering.turns import ChatParts
    from pipeline.chat import ChatRecipe

    models = parts.models if settings is parts.settings else Models(settings)
    reranks = parts.models if settings.cross_encoder == parts.settings.cross_encoder else models
    llm, choice = models.language_model()
    search = searching.make_search(
        settings,
        store=parts.store,
        encoder=parts.encoder,
        cross_encoder=reranks.cross_encoder()[0] if settings.rerank else None,
        llm=llm,
    )
    chat = ChatParts(
        hybrid_search=search,
        options=searching.retrieval_options(settings),
        llm=llm,
        choice=choice,
        conversations=PrivateConversations(),
        persona=load_persona(settings.persona),
        limits=part(settings, ChatOptions),
        prices=part(settings, PriceOptions),
        listeners=(parts.tracer.record,) if traced and parts.tracer else (),
    )

    def ask(question: str, /, *, history: Sequence[Message] = (), paths: Globs | None = None) -> Answer:
        asked = replace(chat, options=chat.options.but(paths=paths), conversations=PrivateConversations())
        for event in ChatRecipe(asked).run(question, history=history):
            if isinstance(event, AnswerFinished):
                return event.answer
            if isinstance(event, RunFailed):
                raise event.error or AthenaError(event.message, event.fix)
        raise AthenaError("The answer ended unexpectedly.", "Ask again.")

    return ask


def try_connection(settings: Settings) -> str:
    """What the language model of the settings is, and how soon it answered; raises what keeps it from that.

    It is asked for one word: a list of models is no proof that a key is good.
    """
    llm, choice = Models(settings).language_model()
    if llm is None:
        raise ModelError(choice.detail, choice.fix)
    from pipeline.models.generation import complete

    begun = time.monotonic()
    said = complete(llm, WORD, timeout_s=WORD_TIMEOUT_S, stop=threading.Event())
    if not said.strip():
        raise ModelError(f"{choice.name} answered nothing.", "Choose another model.")
    return f"{choice.name} answers, {choice.detail}, in {time.monotonic() - begun:.1f} s."
