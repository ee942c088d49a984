"""What a leaf has against what a question asks for: a number, a reason, a definition, something to do."""

from __future__ import annotations

import re

from pipeline.analysis import analyse
from pipeline.asking.kinds import Asked

NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|half|zero)\b", re.IGNORECASE
)
DURATION = re.compile(
    r"\d[\d.,]*\s*(?:s|ms|min|h|d|weeks?|months?|years?)\b|\b(?:second|minute|hour|day)s?\b", re.IGNORECASE
)
REASON = re.compile(
    r"\b(?:because|since|cause[sd]?|reasons?|so that|due to|as a result|therefore|otherwise|why|in order to"
    r"|to avoid|prevents?|means that|leads? to)\b",
    re.IGNORECASE,
)
ACTION = re.compile(
    r"[\s*_`\d.)-]*(?:`|(?:if [^,]{1,60}, )?(?:then )?(?:add|adjust|apply|ask|attach|call|change|check|choose"
    r"|clear|click|close|compare|configure|connect|copy|create|declare|define|delete|disable|do|download"
    r"|enable|enter|find|follow|give|go|hold|import|install|keep|leave|let|load|look|lower|make|move|never"
    r"|note|open|point|power|press|put|raise|read|reduce|remove|repeat|replace|report|reset|restart|restore"
    r"|return|run|select|send|set|show|shut|specify|start|stop|switch|take|tell|test|try|turn|type|update"
    r"|use|wait|watch|wear|write)\b)",
    re.IGNORECASE,
)
DEFINING = re.compile(
    r"\b(?:is|are|means|refers to|stands for|consists of|describes|defines|denotes)\b", re.IGNORECASE
)
FIX = re.compile(
    r"\b(?:fix\w*|procedure|what to do|steps|how to|actions?|recover\w*|repair\w*|restor\w*|remed\w*|solution"
    r"|resolution|troubleshoot\w*|using|creating|adding|setting|configur\w*|install\w*|enabl\w*|running)\b",
    re.IGNORECASE,
)
THEORY = re.compile(
    r"\b(?:theory|background|why|history|example|verification|overview|symptoms?|notes?|see also|related"
    r"|summary|introduction)\b",
    re.IGNORECASE,
)

TROUBLE = re.compile(
    r"\b(?:dead|lost|broken?|stop(?:s|ped)?|fail(?:s|ed|ure)?|gone|dark|error|alarm|warning|stuck|leak\w*"
    r"|won'?t|can'?t|cannot|doesn'?t|not work\w*|offline|wrong|refus\w*|reject\w*|crash\w*|hurts?"
    r"|smell\w*|smoke|fire|burn\w*|losing|dropp\w*|falling|rising|freezing|overheat\w*|frozen|dying|headache"
    r"|dizzy|beep\w*|flash\w*|emergency|help|too? (?:hot|cold|warm|high|low|loud)|empty)\b",
    re.IGNORECASE,
)
ARTICLE = re.compile(r"\A\W*(?:an?|the)\b", re.IGNORECASE)
SUBJECT_WORDS = 6  # a longer subject is not the name of a thing
MOST_OF_IT = 0.5


def wants_fix(question: str, asked: Asked) -> bool:
    """What to do is asked, or something is reported that is wrong, without a question."""
    return asked is Asked.HOW_TO or (asked is Asked.OTHER and bool(TROUBLE.search(question)))


def gives_number(text: str, asked: Asked) -> bool:
    """A number, where how many or how long is asked."""
    return asked in (Asked.HOW_MANY, Asked.HOW_LONG) and bool(NUMBER.search(text))


def gives_duration(text: str, asked: Asked) -> bool:
    """A duration, where how long is asked."""
    return asked is Asked.HOW_LONG and bool(DURATION.search(text))


def gives_reason(text: str, asked: Asked) -> bool:
    """A reason, where why is asked."""
    return asked is Asked.WHY and bool(REASON.search(text))


def says_what_to_do(text: str, asked: Asked) -> bool:
    """An order or a command at its beginning, where what to do is asked."""
    return asked is Asked.HOW_TO and bool(ACTION.match(text))


def has_command(text: str, kind: str, asked: Asked) -> bool:
    """Code, where what to do is asked."""
    return asked is Asked.HOW_TO and (kind == "code" or "`" in text)


def defines(text: str, asked: Asked, terms: frozenset[str]) -> float:
    """The share of the question's terms in a short subject before "is" or "means", for a definition.

    Nothing below a half: "the alarm" is not what C-112 means. One more where the subject is nothing else.
    """
    found = DEFINING.search(text) if asked is Asked.DEFINE else None
    if not found or not terms or len(text[: found.start()].split()) > SUBJECT_WORDS:
        return 0.0
    subject = set(analyse(ARTICLE.sub("", text[: found.start()])))
    share = len(terms & subject) / len(terms)
    return share + (subject == terms) if share >= MOST_OF_IT else 0.0


def under_fix(heading: str, asked: Asked) -> bool:
    """Under a heading such as Fix or Procedure, where what to do is asked."""
    return asked is Asked.HOW_TO and bool(FIX.search(heading))


def under_theory(heading: str, asked: Asked) -> bool:
    """Under a heading such as Background or Symptoms, where what to do is asked."""
    return asked is Asked.HOW_TO and bool(THEORY.search(heading))
