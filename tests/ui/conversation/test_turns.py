"""An answer becomes what the chat component shows."""

from __future__ import annotations

from dataclasses import replace

from pipeline.answer import Answer, Citation, Support
from pipeline.steps.events import RunFailed
from pipeline.steps.records import Step
from tests import made_answers
from tests.pipeline.passages import make_passage
from ui.conversation.runner import RunSnapshot
from ui.conversation.turns import failed_view, running_view, step_line, stored_view
from ui.conversation.units import in_words, quote_tree

SECTION = "Check the breaker. Then wait.\n\n| State | Do |\n|---|---|\n| OFFLINE | Close CB-4 |\n"


def citation(
    marker: int, quote: str, *, source: str = "ecs.md", path: tuple[str, ...] = ("ECS", "LN2")
) -> Citation:
    start = 100 + SECTION.index(quote)
    return Citation(
        marker, source, path, start, start + len(quote), 5, 5, quote, True, "s1", "f", "q", SECTION, 100
    )  # fmt: skip


def answer(text: str = "", **changes: object) -> Answer:
    made = Answer("Why?", "Why?", text, "generate", "ollama/x", False)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_markers_of_citations_become_chips_and_others_stay_text() -> None:
    """A document's own "[1]", copied with the backslash that the prompt gave it, is text."""
    text = "Wait [1] or [7], \\[1]."
    view = stored_view(answer(text, citations=(citation(1, "Then wait."),)), turn_id="t")
    assert view["body"] == [
        {"t": "p", "c": ["Wait ", {"t": "chip", "n": 1, "c": []}, " or [7], ", "[", "1]."]}
    ]
    assert view["citations"]["1"] == {"quote": "Then wait.", "where": "ecs.md › ECS › LN2", "verified": True}


def test_an_unsupported_sentence_is_wrapped_and_says_what_is_missing() -> None:
    text = "Wait [1]. It takes 3 minutes [1]."
    support = (Support(0, 9, (1,), True, 0.9), Support(10, 33, (1,), False, 0.2, ("3 minutes",)))
    view = stored_view(answer(text, citations=(citation(1, "Then wait."),), support=support), turn_id="t")
    wavy = [node for node in view["body"][0]["c"] if isinstance(node, dict) and node["t"] == "unsupported"]
    assert [node["n"] for node in wavy] == [1, 1]
    assert view["support"][1]["text"] == "The passages do not say: 3 minutes"
    assert view["meta"] == ["1 section", "1 of 2 sentences unsupported", "ollama/x"]


def test_a_sentence_that_no_passage_says_is_told_so() -> None:
    support = (Support(0, 9, (), False, 0.2),)
    view = stored_view(answer("Then go on.", support=support), turn_id="t")
    assert view["support"] == [{"text": "No passage says this."}]
    assert view["meta"][0] == "1 of 1 sentence unsupported"


def test_a_table_row_is_quoted_under_its_header() -> None:
    tree = quote_tree(citation(1, "| OFFLINE | Close CB-4 |"))
    assert tree[0]["t"] == "table"
    assert [part["t"] for part in tree[0]["c"]] == ["thead", "tbody"]


def test_code_is_quoted_as_code() -> None:
    section = "Run:\n\n```\nshow *ECS*\n```\n"
    start = section.index("show")
    quoted = replace(
        citation(1, "Then wait."), quote="show *ECS*", section_text=section, section_start=0, start=start
    )
    assert quote_tree(quoted) == [{"t": "pre", "c": [{"t": "code", "c": ["show *ECS*", "\n"]}]}]


def test_hovering_shows_words_without_marks() -> None:
    quoted = replace(citation(1, "Then wait."), quote="See **[P-1](x.md#p)** and `show A`.", section_text="")
    assert in_words(quoted) == "See P-1 and show A."
    assert in_words(citation(1, "| OFFLINE | Close CB-4 |")) == "State · Do OFFLINE · Close CB-4"


def test_a_step_keeps_its_number_and_a_bullet_goes() -> None:
    step = replace(citation(1, "Then wait."), quote="4. Close CB-4.")
    assert quote_tree(step)[0]["start"] == 4
    assert quote_tree(replace(step, quote="- Close CB-4."))[0]["t"] == "p"


def test_not_in_the_manuals_shows_the_nearest_sections() -> None:
    view = stored_view(answer(abstained=True, nearest=(citation(1, "Then wait."),)), turn_id="t")
    assert (view["kind"], view["body"], view["nearest"][0]["title"]) == ("abstained", [], "LN2")
    assert (view["missing"], "manuals" in view["otherwise"]) == ("Not in the documents", False)
    ships = stored_view(answer(abstained=True), turn_id="t", documents="manuals")
    assert (ships["missing"], "Name the part" in ships["otherwise"]) == ("Not in the manuals", True)


def test_a_stopped_answer_says_so_and_a_failed_one_says_what_to_do() -> None:
    stopped = stored_view(answer("Half", status="stopped"), turn_id="t")
    assert stopped["ended"] == "You stopped this answer."
    failed = failed_view(stopped, RunFailed("Ollama is gone.", "Start it.", "Half"))
    assert failed["failure"] == {"message": "Ollama is gone.", "fix": "Start it."}


def test_the_quiet_line_counts_sections_and_names_the_model() -> None:
    citations = (citation(1, "Then wait."), citation(2, "Check the breaker."))
    assert stored_view(answer("x", citations=citations, seconds=1.26), turn_id="t")["meta"] == [
        "1 section", "ollama/x", "1.3 s",
    ]  # fmt: skip
    assert stored_view(answer(model="", mode="quote"), turn_id="t")["meta"] == ["quotes, no model"]


def test_a_running_turn_shows_its_step_and_its_text() -> None:
    now = RunSnapshot("Why?", step="Searching 12 sentences")
    assert step_line(now) == "Searching 12 sentences …"
    assert step_line(replace(now, step="", text="It")) == "Writing …"
    assert step_line(replace(now, stopping=True)) == "Stopping …"
    cited = made_answers.CLOSEST.citations[:1]
    written = running_view(replace(now, text="It [1] is [2]", citations=cited))
    assert [part["t"] for part in written["body"][0]["c"] if isinstance(part, dict)] == ["chip"]
    assert written["citations"]["1"]["quote"]
    assert running_view(replace(now, working=False))["ended"] == "You stopped this answer."


def test_passages_come_first_and_thoughts_apart() -> None:
    passages = (make_passage("s", text="It hums.", sentences=[(0, "It hums.", 1.0)]),)
    now = RunSnapshot("Why?", found=passages, thoughts="Hm.")
    view = running_view(now)
    assert [one["quote"] for one in view["found"]] == ["It hums."]
    assert (view["thoughts"], view["body"]) == ("Hm.", [])
    assert running_view(replace(now, working=False))["found"] == []


def test_a_notice_is_markdown() -> None:
    view = stored_view(answer(notices=("Run `athena doctor` *now*.",)), turn_id="t")
    assert view["notices"] == [
        [
            {
                "t": "p",
                "c": ["Run ", {"t": "code", "c": ["athena doctor"]}, " ", {"t": "em", "c": ["now"]}, "."],
            }
        ]
    ]
    failed = stored_view(answer(notices=("Cut.", "Start `ollama`."), status="failed"), turn_id="t")
    assert (len(failed["notices"]), failed["failure"]) == (1, {"message": "Start `ollama`.", "fix": ""})


def test_the_closest_passages_are_said_to_be_that() -> None:
    view = stored_view(made_answers.CLOSEST, turn_id="t")
    assert (view["kind"], view["heading"]) == ("quotes", "The documents may not answer this. Closest:")
    assert view["meta"] == ["2 sections", "closest passages", "0.2 s"]
    for other in (made_answers.ANSWERED, made_answers.EARLIER, made_answers.ABSTAINED, made_answers.REPLY):
        assert stored_view(other, turn_id="t")["heading"] == ""


def test_a_corrected_question_says_what_was_typed() -> None:
    view = stored_view(made_answers.CORRECTED, turn_id="t")
    assert view["corrected"] == {"shown": "fuel cell warm-up", "typed": "fule cell warmup"}
    abstained = replace(made_answers.ABSTAINED, corrected="football")
    assert stored_view(abstained, turn_id="t")["looked_for"] == "football"
    pasted = replace(abstained, corrected="a whole page " * 99)
    assert len(stored_view(pasted, turn_id="t")["looked_for"]) < 250
    assert stored_view(made_answers.ANSWERED, turn_id="t")["corrected"] is None


def test_what_was_carried_is_not_said_to_be_a_correction_of_the_message() -> None:
    carried = "how do i swich: the fan"
    follow_up = replace(
        made_answers.CORRECTED, carried=carried, question="and if that fails?",
        corrected="how do I switch: the fan: and if that fails?",
    )  # fmt: skip
    assert stored_view(follow_up, turn_id="t")["corrected"] is None
    both = replace(follow_up, question="and if taht fails?")
    assert stored_view(both, turn_id="t")["corrected"] == {
        "shown": "and if that fails?",
        "typed": "and if taht fails?",
    }


def test_a_reply_has_no_quiet_words() -> None:
    view = stored_view(made_answers.REPLY, turn_id="t")
    assert (view["kind"], view["meta"], view["inspectable"], view["corrected"]) == ("reply", [], False, None)
    told = replace(made_answers.REPLY, steps=(Step("search"),))
    assert stored_view(told, turn_id="t")["inspectable"] is False


def test_what_was_remembered_stands_beside_the_answer_and_is_gone_when_it_is_forgotten() -> None:
    found = answer("It hums.", recalled=("m1", "m2"))
    shown = stored_view(found, turn_id="t", recalled={"m1": "The fan is called Gustav."})
    kept = {"id": "m1", "text": "The fan is called Gustav.", "when": "", "forgotten": False}
    gone = {"id": "m2", "text": "(forgotten)", "when": "", "forgotten": True}
    assert shown["recalled"] == [kept, gone]
    itself = replace(found, mode="memory", text="I remember: the fan is called Gustav.")
    shown = stored_view(itself, turn_id="t", recalled={"m1": "The fan is called Gustav."})
    assert (shown["kind"], shown["of_memory"], shown["recalled"]) == ("reply", True, [kept, gone])
    noted = replace(itself, mode="reply", text="Noted: I find it again when you ask about it.")
    shown = stored_view(noted, turn_id="t")
    assert (shown["kind"], shown["of_memory"]) == ("reply", False), "it has not said what took whose place"
