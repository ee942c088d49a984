"""The third recipe: a message in, an answer with verified citations out, and events while it is written.

With a language model: rewrite (a follow-up, another language) → recall → retrieve → prompt → write, cite and
verify sentence by sentence → remember. Without one: recall → retrieve → quote → remember. Requests to the
memory and greetings are answered without a search; an agent, if set, replaces retrieve, prompt and write.

The prompts are in `pipeline/answering/prompts.py` (answer) and `pipeline/asking/rewriting.py` (rewrite).
To add a step, run it in `with turn.trace.step(NAME)`, and give NAME a label in `pipeline/steps/records.py`.
To add a kind of model server, see `pipeline/models/clients.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pipeline.answer import Answer, Message, Verdict
from pipeline.answering import replies
from pipeline.answering.prompts import Source, fitting_history
from pipeline.answering.recollection import recalled_data
from pipeline.answering.turns import (
    ChatMemory,
    ChatParts,
    KeptConversation,
    RunningTurn,
    conversation_of,
    history_of,
    messages_of,
)
from pipeline.answering.writing import cited_answer, finish, prompt_for, write
from pipeline.asking.questions import asked_in, check_length, earlier_leads, earlier_question, small_talk
from pipeline.asking.translation import foreign_language, language_of
from pipeline.errors import AthenaError, ModelError
from pipeline.finding.passages import merge_retrievals
from pipeline.redaction import redacted
from pipeline.steps.events import AnswerFinished, ChatEvent, Emit, RunFailed, SourcesFound, Trace, streamed
from pipeline.steps.records import STOPPED, last_step
from pipeline.steps.spending import spending
from pipeline.words import well_formed

if TYPE_CHECKING:
    from pipeline.models.clients import LanguageModel


UNEXPECTED = "The answer ended unexpectedly. Ask again."
NOT_RECALLED = "Nothing was recalled: {why}."
AS_TYPED = "Your message was searched for as you typed it: {why}."


class ChatRecipe:
    """A chat in one stored conversation; raises `UnknownConversation` for another user's or a missing one.

    `run` yields typed events and stores every turn, including stopped and failed ones.
    """

    def __init__(self, parts: ChatParts, conversation_id: str | None = None) -> None:
        begun = conversation_of(parts, conversation_id or "")
        if begun is not None and begun.info.scope and parts.options.paths is None:
            parts = replace(parts, options=parts.options.but(paths=begun.info.scope))
        self.parts = parts
        self.history: list[Message] = history_of(begun)
        self.conversation = KeptConversation(parts, conversation_id or "")

    @property
    def conversation_id(self) -> str:
        """The id of the stored conversation; "" before its first turn."""
        return self.conversation.id

    # -- the recipe ---------------------------------------------------------------------------------

    def _answer(self, turn: RunningTurn, emit: Emit) -> Answer:
        """Answer the message of a turn."""
        memory, llm = self.parts.memory, self.parts.llm
        if turn.instead_of:
            self.conversation.keep_so_far(turn)
        if memory and memory.concerns(turn.message):
            return self._ask_memory(turn, memory)
        if reply := small_talk(turn.message, greeting=self.parts.persona.greeting):
            return turn.answer(text=reply, mode="reply", verdict="answered")
        self._rewrite(turn)
        if memory is not None:
            self._recall(turn, memory)
        if llm is not None and self.parts.agent is not None:
            sources = self.parts.agent.work(turn, self.parts)
            turn.file_hashes = self._file_hashes()
            if sources is not None:
                return self._cite_whole(turn, sources, emit)
        self._retrieve(turn, emit)
        return self._quote_or_tell(turn) if llm is None else self._generate(turn, llm, emit)

    def _rewrite(self, turn: RunningTurn) -> None:
        """Let the model turn message and history into queries; if it fails, keep the message as typed.

        A first message is rewritten only for HyDE, for an agent (a small model that is asked two things does
        not search twice by itself), or if it is in a language that no document has.
        """
        asked, llm = asked_in(turn.message), self.parts.llm
        turn.queries = (asked,)
        if llm is None:
            return
        store, hyde = self.parts.hybrid_search.store, turn.options.hyde
        turn.language = foreign_language(asked, store)
        if not (turn.history or hyde or self.parts.agent or turn.language):
            return
        from pipeline.asking.rewriting import rewrite

        history = fitting_history(turn.history, budget=self.parts.limits.history_tokens)
        languages, into = [*store.statistics().languages], language_of(store) if turn.language else ""
        with turn.trace.step("condense", message=turn.message, messages=len(history)) as step:
            try:
                found = rewrite(
                    llm, history, asked, languages=languages, hyde=hyde, into=into, stop=turn.stop
                )
            except ModelError as error:
                if turn.stop.is_set():
                    step.skip(STOPPED)
                    return
                step.fail(str(error))
                turn.notices += (AS_TYPED.format(why=str(error.problem).rstrip(".")),)
                return
            turn.queries, turn.hypothesis = tuple(found.queries), found.hypothesis if hyde else ""
            step.data |= {"question": turn.question, "queries": found.queries, "by": "model"}

    def _recall(self, turn: RunningTurn, memory: ChatMemory) -> None:
        """Recall memories for the message; if that fails, add a notice and go on without them."""
        limits, history = self.parts.limits, turn.history
        room = max(limits.history_tokens, limits.context_window // 2)
        kept = fitting_history(history, budget=limits.history_tokens, room=room)
        try:
            with turn.trace.step("recall") as step:
                found = memory.recall(
                    turn.message,
                    question=turn.question,
                    left=history[: len(history) - len(kept)],
                    turn_id=turn.turn_id,
                )
                step.data |= recalled_data(found)
                if found.detail:
                    step.skip(found.detail)
                turn.recollection = found
        except AthenaError as error:
            turn.notices += (NOT_RECALLED.format(why=str(error).rstrip(".")),)

    def _retrieve(self, turn: RunningTurn, emit: Emit) -> None:
        """Search for each query; without a model, also try the message joined to the previous question."""
        search = partial(
            self.parts.hybrid_search.search,
            options=turn.options,
            hypothesis=turn.hypothesis,
            stop=turn.stop,
            trace=turn.trace,
        )
        found = [search(query) for query in turn.queries]
        turn.retrieval = merge_retrievals(found, turn.question, top_k=turn.options.top_k)
        earlier = earlier_question(turn.history) if self.parts.llm is None else ""
        if earlier and not turn.question.startswith(earlier) and not turn.stop.is_set():
            before = len(turn.trace.steps)
            other = search(f"{earlier}: {turn.question}")
            if earlier_leads(turn.question, turn.retrieval, other):  # keep the steps of this search only
                turn.retrieval = other
                turn.queries = (other.question,)
                del turn.trace.steps[before - len(found[0].steps) : before]
            else:
                del turn.trace.steps[before:]
        emit(SourcesFound(turn.retrieval))
        turn.file_hashes = self._file_hashes()

    def _quote_or_tell(self, turn: RunningTurn) -> Answer:
        """Answer without a model: from memory, with quotes, or by saying that nothing was found."""
        memory, found = turn.recollection, turn.found
        if memory.leads(found.answerability):
            verdict: Verdict = "answered" if memory.verdict == "remembered" else "closest"
            return turn.answer(text=memory.told, mode="memory", verdict=verdict, recalled=memory.told_ids)
        nothing = found.answerability.verdict == "not in the documents" or not found.passages
        if memory.noted and nothing:
            return turn.answer(text=memory.noted, mode="reply", verdict="answered")
        turn.notices += (memory.noted,) if memory.noted and found.answerability.verdict == "closest" else ()
        if nothing:
            personal = memory.verdict is not None and memory.personal and memory.asks
            far = found.answerability.signals.get("closeness", 0.0) < replies.NEAR
            nearest = () if personal or far else replies.nearest_sections(found.passages, turn.file_hashes)
            return turn.answer(
                text=replies.not_answered(turn.message, personal=personal, nearest=bool(nearest)),
                abstained=True,
                nearest=nearest,
                verdict="not in the documents",
            )
        choice = self.parts.choice
        why = f"{choice.detail} " if choice.wrong else ""
        return self._quote(turn, notice=f"{replies.NO_MODEL} {why}{choice.fix}".strip())

    def _quote(self, turn: RunningTurn, *, notice: str) -> Answer:
        """Answer with the best quotes, word for word; `notice` says why no model answers."""
        with turn.trace.step("quote", limit=self.parts.limits.quotes) as step:
            return replies.quoted(step, turn, self.parts.hybrid_search, notice=notice)

    def _generate(self, turn: RunningTurn, llm: LanguageModel, emit: Emit) -> Answer:
        """Answer with the model, or with quotes if it wrote nothing; raise `ModelError` if it fails later."""
        prompt = prompt_for(turn, self.parts)
        keep = self.conversation.keep_so_far_if_possible
        keep(turn)
        cited = cited_answer(turn, self.parts, prompt.sources)
        try:
            write(turn, self.parts, llm, prompt.messages, cited, emit=emit, keep=keep)
        except ModelError as error:
            if turn.text.strip():
                with suppress(ModelError):  # the embedding model fails, too: keep the text only
                    turn.partial = finish(turn, cited)
                raise
            return self._quote(turn, notice=f"{error} {replies.QUOTES_INSTEAD}")
        if not turn.text.strip() and not turn.stop.is_set():
            return self._quote(
                turn, notice=f"{self.parts.choice.name} answered nothing. {replies.QUOTES_INSTEAD}"
            )
        return finish(turn, cited)

    def _cite_whole(self, turn: RunningTurn, sources: Sequence[Source], emit: Emit) -> Answer:
        """Cite the answer that an agent has written to `turn.text`."""
        if turn.retrieval is not None:
            emit(SourcesFound(turn.retrieval))
        cited = cited_answer(turn, self.parts, sources)
        cited.add(turn.text.strip())
        return finish(turn, cited)

    def _ask_memory(self, turn: RunningTurn, memory: ChatMemory) -> Answer:
        """Carry out a request to the memory; store the turn first, since memories name it as their source."""
        self.conversation.keep_so_far(turn)
        reply = memory.reply(turn.message, turn_id=turn.turn_id)
        turn.trace.steps.append(reply.step)
        return turn.answer(text=reply.text, mode="memory", verdict="answered", recalled=reply.recalled)

    def _file_hashes(self) -> Mapping[str, str]:
        return {info.source: info.hash for info in self.parts.hybrid_search.store.documents()}

    # -- running it ---------------------------------------------------------------------------------

    def run(
        self,
        message: str,
        *,
        stop: threading.Event | None = None,
        history: Sequence[Message] | None = None,
        instead_of: str = "",
    ) -> Iterator[ChatEvent]:
        """Answer a message and yield events; the last one is `AnswerFinished` or `RunFailed`.

        `history` replaces the earlier messages. `instead_of` is the id of a turn to replace: the same
        question adds a version to that turn; another question deletes it and all later turns. Raises
        `AthenaError` for a message of over 20,000 characters, `UnknownConversation` for an unknown turn. A
        thread does the work; closing the iterator early stops it and stores the text written so far.
        """
        check_length(message)
        stop = stop or threading.Event()
        if history is not None:
            self.history = list(history)
        if instead_of:
            begun = conversation_of(self.parts, self.conversation_id)
            self.history = history_of(begun, before=instead_of)
        alone = self.parts.memory is not None and not self.parts.memory.uses_history
        earlier = [] if alone else list(self.history)
        asked = redacted(well_formed(message))  # do not store a key that was pasted
        return streamed(partial(self._work, asked, earlier, stop, instead_of), stop=stop)

    def _work(
        self, message: str, history: Sequence[Message], stop: threading.Event, instead_of: str, emit: Emit
    ) -> None:
        """Run one turn and emit its last event after all other work, since some callers stop reading then."""
        parts = self.parts
        turn = RunningTurn(
            message=message,
            history=history,
            stop=stop,
            model=parts.model_name,
            options=parts.options,
            trace=Trace(emit),
            instead_of=instead_of,
        )
        last: ChatEvent
        try:
            with spending() as turn.spent:
                found = self._answer(turn, emit)
            if parts.memory is not None and last_step(turn.trace.steps, "remember") is None:
                turn.trace.steps.append(parts.memory.planned(message))
            answer = self.conversation.keep_if_possible(turn, found)
            self.history += messages_of(answer)
            last = AnswerFinished(answer)
        except AthenaError as error:
            self._fail(turn, str(error))
            last = RunFailed(error, turn.text, turn.finished)
        except BaseException:  # store the turn as failed, then raise the error again
            self._fail(turn, UNEXPECTED)
            self._tell(turn)
            raise
        try:
            self._tell(turn)
        finally:  # the caller gets the answer even if a listener fails
            emit(last)

    def _fail(self, turn: RunningTurn, why: str) -> None:
        with suppress(AthenaError):  # the conversation was deleted, or the store itself failed
            self.history += messages_of(self.conversation.keep_failed(turn, why))

    def _tell(self, turn: RunningTurn) -> None:
        """Pass the ended turn to the memory and the listeners."""
        if self.parts.memory is not None and turn.outcome is not None:
            self.parts.memory.remember(turn.finished, turn.passages)
        for listen in self.parts.listeners:
            listen(turn.finished, turn.passages)
