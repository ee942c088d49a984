"""A turn as HTML: quotes, written answers with chips, what is missing, memory, and what is copied."""

from __future__ import annotations

import re
from dataclasses import replace

from pipeline.answer import Answer, Support
from pipeline.errors import AthenaError
from pipeline.steps.events import RunFailed
from pipeline.steps.records import Step
from tests import made_answers as made
from tests.ui.conftest import VALVES, answered, quoted
from ui.conversation.answers import answer_markdown, meta, running_html, stored_html
from ui.conversation.runner import RunSnapshot

ORDERED = {"tool": "order", "arguments": {"part": "<fan>"}, "kind": "tool", "result": "done"}
FAN = Step("tool", 1200.0, data=ORDERED)


def written(text: str, **changes: object) -> Answer:
    cited = (quoted(VALVES, "Close CB-4 first."), quoted(VALVES, "no power", marker=2))
    return answered(text=text, mode="generate", model="ollama/x", citations=cited, **changes)


def chips(html: str) -> list[str]:
    return [*dict.fromkeys(re.findall(r'class="chip[^"]*"[^>]*data-marker="(\d+)"', html))]


def test_quotes_stand_under_their_breadcrumb_with_what_answers_marked() -> None:
    html = stored_html(made.ANSWERED)
    assert chips(html) == ["1", "2", "3", "4", "5"] and html.count("<details") == 1
    assert '<mark class="answer">The cell then carries 2 kW.</mark>' in html
    assert "Fuel cell warm-up" in html
    assert "2 more passages" in html or "1 more passage" in html


def test_what_may_not_answer_says_so_and_marks_nothing() -> None:
    html = stored_html(made.CLOSEST)
    assert "may not answer" in html and "<mark" not in html and "closest" in html
    assert "closest passages" in meta(made.CLOSEST)


def test_sentences_have_chips_and_those_without_support_say_so() -> None:
    text = "Close **CB-4** [1]. It glows. [7]"
    weak = Support(20, 29, (), supported=False, score=0.0, missing=("glows",))
    html = stored_html(written(text, support=(weak,)))
    assert chips(html) == ["1"] and "[7]" in html
    assert 'not say: glows">It glows.' in html


def test_a_model_runs_no_script_and_makes_no_link_of_its_own() -> None:
    html = stored_html(written("<img src=x onerror=alert(1)> [1]: javascript:alert(1) [x](javascript:a)"))
    assert "<img" not in html and "href" not in html


def test_what_is_not_there_says_what_was_looked_for_and_offers_more() -> None:
    html = stored_html(made.ABSTAINED)
    assert "in the documents" in html and "nearest sections" in html and "Ask everywhere" not in html
    assert "Ask everywhere" in stored_html(replace(made.ABSTAINED, settings={"paths": "engines/"}))
    assert "<script" not in stored_html(
        replace(made.ABSTAINED, question="<script>", condensed_question="<script>")
    )


def test_a_corrected_question_is_shown() -> None:
    assert "Showing results for" in stored_html(made.CORRECTED)


def test_a_failed_and_a_stopped_answer_keep_their_text() -> None:
    failed = written("Half", status="failed", notices=("Mind this.", "It broke `off`. Try <again>."))
    html = stored_html(failed, failure=RunFailed(AthenaError("It broke `off`.", "Try <again>.")))
    assert "Half" in html and "Mind" in html and "<code>off" in html and html.count("&lt;again") == 1
    assert "You stopped" in stored_html(written("Half", status="stopped"))


def test_a_running_turn_shows_what_it_found_and_can_be_stopped() -> None:
    now = RunSnapshot("Why?", step="Searching 4 sentences", thoughts="Hmm <b>", steps=(FAN,))
    html = running_html(now)
    assert "Searching 4 sentences" in html and 'data-act="stop"' in html and "Hmm &lt;b&gt;" in html
    assert "&lt;fan&gt;" in html and "1.2 s" in html
    stopping = running_html(replace(now, stopping=True))
    assert "Stopping" in stopping and "disabled" in stopping
    ended = running_html(replace(now, working=False, failure=RunFailed(AthenaError("Broken.", "Ask again."))))
    assert "Broken." in ended and 'data-act="stop"' not in ended
    cited = replace(now, text="Close CB-4 [1].", citations=(quoted(VALVES, "Close CB-4 first."),))
    assert chips(running_html(cited)) == ["1"]


def test_memory_is_shown_apart_and_what_was_forgotten_says_so() -> None:
    answer = answered(recalled=("a", "gone"))
    html = stored_html(answer, {"a": "<Ada> works here"})
    assert html.index("blockquote") < html.index("From memory")
    assert "&lt;Ada&gt;" in html and "(forgotten)" in html


def test_the_copy_has_the_sources_that_the_text_names_as_footnotes() -> None:
    copied = answer_markdown(written("Close it [1]. Really [1]."))
    assert copied.startswith("> Why is it OFFLINE?") and "Close it [^1]." in copied
    assert "[^1]: valves.md › Valves › LN2 tank, line" in copied and "[^2]:" not in copied


def test_the_quiet_line_says_who_answered() -> None:
    assert meta(answered(seconds=0.31)) == "1 section · quotes, no model · 0.3\N{NO-BREAK SPACE}s"
    weak = Support(0, 4, (), supported=False, score=0.0)
    assert meta(written("Half.", support=(weak,))) == "1 section · 1 of 1 sentence unsupported · ollama/x"
    assert "not answered" in meta(made.ABSTAINED) and meta(made.REPLY) == ""
