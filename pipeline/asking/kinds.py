"""What a question asks for: a list, a definition, steps, a person, some other fact, by its words alone.

The order of the rules decides: "how many" is asked before "how", "list" and "compare" before all.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Asked(StrEnum):
    """What an answer has to have."""

    LIST = "list"  # all of some things
    COMPARE = "compare"  # two things side by side
    SUMMARISE = "summarise"  # the outline of a topic
    WHO = "who"  # a person or a role
    HOW_TO = "how to"  # steps, a fix
    DEFINE = "define"  # what something is or means
    FACT = "fact"  # a number, a time, a place, a reason, which one, yes or no
    OTHER = "other"  # keywords, a statement


_RULES: tuple[tuple[Asked, str], ...] = (
    (
        Asked.COMPARE,
        r"\b(compare[sd]?|comparison|differences?|differ|versus|vs)\b|\bdifferent (from|than)\b"
        r"|\b(better|faster) than\b",
    ),
    (
        Asked.SUMMARISE,  # "summary alarm" is a thing, "a summary of the alarms" is wanted
        r"^\W*((please|can you|could you|would you|give me|show me|i (want|need|would like)|write|make|"
        r"an?|the|short|brief|quick|rough) )*"
        r"(summari[sz]e|sum up|(summary|overview|outline) (of|over|about|on|for)|outline the"
        r"|tell me (all |more )?about)\b",
    ),
    (
        Asked.LIST,
        r"^\W*((please|can you|could you|would you) )?(list|enumerate|name (all|the|every|each)"
        r"|show( me)? (all|every|each)|give me (all|every|each|a list)|all|every)\b"
        r"|\b(what|which) are (all\b|the ([\w-]+ )?\w*s\b)|\b(what|which)( [\w-]+){1,3} (are|exist) there\b"
        r"|\ball (the )?\w+s\b.*\blist\b|\blist of\b|\b(whole|complete|full|entire) list\b|\ball of them\b",
    ),
    (
        Asked.FACT,
        r"\bhow (long|soon|quickly|often)\b|\bhow much (more )?time\b|\btime (left|limit)\b"
        r"|\bhow (many|much|big|large|small|hot|cold|high|low|far|fast|deep|heavy|old|warm|wide|strong)\b"
        r"|\b(maximum|minimum|max|min|limit|default (port|value|size)|number of|size of|rate of)\b",
    ),
    (Asked.WHO, r"\b(who|whom|whose)\b"),
    (
        Asked.FACT,
        r"^\W*(\w+ ){0,2}when\b(?!.*\bwhat (do|should|can)\b)|\b(what|which) (date|day|year|time)\b"
        r"|\bwhere(abouts)?\b|\b(in )?(what|which) (file|folder|directory|place|slot|bay)\b"
        r"|\b(why|how come|what causes?|reasons?|what('s| is) wrong)\b",
    ),
    (
        Asked.HOW_TO,
        r"\bhow (do|can|could|should|would|to|does one|am|are we)\b"
        r"|\bwhat (do|should|can|could|must|shall) (i|we|you|one)\b|\bwhat (now|next|to do)\b|\bnow what\b"
        r"|\b(steps|procedure|instructions|fix|repair|restart|reset|recover)\b|\bhelp\b"
        r"|\bwhat(?! (?:does|did)\b).*\bdo\W*$",
    ),
    (
        Asked.DEFINE,
        r"\bwhat('s| is| are| was| were|s| does| do)\b|\b(define|definition|meaning|mean|explain|describe)\b",
    ),
    (
        Asked.FACT,
        r"\bwhich\b|\bwhat (kind|type|sort)\b"
        r"|^\W*(is|are|was|were|do|does|did|can|could|should|may|must|will|would|has|have)\b",
    ),
)
_COMPILED = tuple((asked, re.compile(pattern, re.IGNORECASE)) for asked, pattern in _RULES)
LONGEST = 2_000  # characters that are looked at


def asked_for(question: str) -> Asked:
    """What the question asks for."""
    head = question[:LONGEST].replace("’", "'")
    return next((asked for asked, pattern in _COMPILED if pattern.search(head)), Asked.OTHER)
