"""A small manual, and answers over it as a pipeline would make them: quotes of every kind, every verdict."""

from __future__ import annotations

from dataclasses import replace

from pipeline.answer import Answer, Citation, Unit

SOURCE = "ship.md"
MANUAL = """# Ship

## Cabin alarms

The console shows an alarm of the cabin until it is acknowledged. These are all of them:

| Code | Meaning | What to do |
|---|---|---|
| C-101 | CO2 above its limit | Change the bed of `AIR-CTRL` and wait ten minutes |
| C-102 | Oxygen below its limit | Open valve **OV-2** by one turn |
| C-103 | Cabin fan stopped | Restart the fan from the console |
| C-104 | Cabin too warm | Set the loop to *cool* |
| C-105 | Cabin too cold | Set the loop to *heat* |
| C-106 | Pressure falls | Close the hatches, then follow P-ATM-01 |
| C-107 | Humidity above its limit | Empty the condenser |
| C-108 | Smoke | Masks on, then follow P-FIR-01 |

## Fuel cell warm-up

A cold fuel cell gives no power. Warm it up before it takes load, in this order:

1. Open the hydrogen valve.
2. Open the oxygen valve by a quarter turn:
   - watch the flow, which must stay below 2 g/s;
   - close it again where the flow is higher.
3. Set the heater to **AUTO**.
4. Wait until the cell has 60 °C, which takes about nine minutes.
5. Close bus A's breaker.
6. Write the time into the log.

The cell then carries 2 kW. It must not be switched off within the next hour, or its membrane dries out.

## Console

To see what a system reports, ask the console for it:

```
show ECS
list alarms
show EPS --all
```

Commands are not case-sensitive.
"""
TABLE_HEADER = "| Code | Meaning | What to do |\n|---|---|---|"
TABLE_LEAD = "The console shows an alarm of the cabin until it is acknowledged. These are all of them:"
STEPS_LEAD = "A cold fuel cell gives no power. Warm it up before it takes load, in this order:"
CODE_LEAD = "To see what a system reports, ask the console for it:"


def place(text: str, last: str = "") -> tuple[int, int]:
    """The offsets in the manual of a text, or from its start to the end of another one."""
    start = MANUAL.index(text)
    end = MANUAL.index(last, start) + len(last) if last else start + len(text)
    return start, end


def cited(marker: int, heading: str, text: str, last: str = "") -> Citation:
    """A citation of a text, or from its start to the end of another one."""
    start, end = place(text, last)
    section = MANUAL.index(f"## {heading}\n") + len(f"## {heading}\n\n")
    section_end = MANUAL.find("\n\n## ", section)
    section_text = MANUAL[section : None if section_end < 0 else section_end]
    return Citation(
        marker=marker,
        source=SOURCE,
        heading_path=("Ship", heading),
        start=start,
        end=end,
        start_line=MANUAL.count("\n", 0, start) + 1,
        end_line=MANUAL.count("\n", 0, end) + 1,
        quote=MANUAL[start:end],
        file_hash="f",
        section_text=section_text,
        section_start=section,
    )


ROWS = cited(1, "Cabin alarms", "| C-103", "from the console |")
STEPS = cited(2, "Fuel cell warm-up", "2. Open the oxygen", "nine minutes.")
PARAGRAPH = cited(3, "Fuel cell warm-up", "The cell then carries", "dries out.")
CODE = cited(4, "Console", "show ECS\nlist alarms")
SENTENCE = cited(5, "Console", "Commands are not case-sensitive.")
# The whole unit, its lead, the answer in it, and whether it is folded.
WHOLE = place("The console shows", "P-FIR-01 |")
ROWS_UNIT = Unit(1, "table", *WHOLE, TABLE_LEAD, *place(ROWS.quote))
WHOLE = place("A cold fuel cell", "into the log.")
STEPS_UNIT = Unit(2, "steps", *WHOLE, STEPS_LEAD, *place("which takes about nine minutes."))
WHOLE = place("The cell then carries", "dries out.")
PARAGRAPH_UNIT = Unit(3, "paragraph", *WHOLE, "", *place("The cell then carries 2 kW."))
CODE_UNIT = Unit(
    4, "code", *place("To see what", "--all\n```"), CODE_LEAD, *place("list alarms"), folded=True
)
SENTENCE_UNIT = Unit(5, "sentence", *place("Commands are not case-sensitive."), folded=True)
NO_MODEL = "No language model is connected: these are quotes. Connect one with `ollama pull llama3.2`."

ANSWERED = Answer(
    question="The cabin fan stopped. What now?",
    condensed_question="The cabin fan stopped. What now?",
    text="> The cabin fan stopped [1]",
    mode="quote",
    model="",
    abstained=False,
    citations=(ROWS, STEPS, PARAGRAPH, CODE, SENTENCE),
    notices=(NO_MODEL,),
    seconds=0.24,
    verdict="answered",
    units=(ROWS_UNIT, STEPS_UNIT, PARAGRAPH_UNIT, CODE_UNIT, SENTENCE_UNIT),
)
CLOSEST = replace(
    ANSWERED,
    question="What is the water pump's maximum pressure?",
    condensed_question="What is the water pump's maximum pressure?",
    citations=(replace(PARAGRAPH, marker=1), replace(SENTENCE, marker=2)),
    units=(replace(PARAGRAPH_UNIT, marker=1), replace(SENTENCE_UNIT, marker=2, folded=False)),
    verdict="closest",
)
CORRECTED = replace(
    ANSWERED,
    question="fule cell warmup",
    condensed_question="fule cell warmup",
    corrected="fuel cell warm-up",
    citations=(STEPS, PARAGRAPH),
    units=(STEPS_UNIT, PARAGRAPH_UNIT),
)
ABSTAINED = replace(
    ANSWERED,
    question="Who won the football world cup in 1998?",
    condensed_question="Who won the football world cup in 1998?",
    text="The documents do not seem to answer this.",
    abstained=True,
    verdict="not in the documents",
    citations=(),
    nearest=(replace(SENTENCE, marker=1), replace(PARAGRAPH, marker=2)),
    units=(),
    notices=(),
)
REPLY = Answer(
    question="hello",
    condensed_question="hello",
    text="Hello. I answer from the **manuals** of the ship.",
    mode="reply",
    model="",
    abstained=False,
    seconds=0.01,
)
