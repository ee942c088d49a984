"""From a text to what is worth remembering of it: pure functions, by rules that are data.

| function | what comes back |
|---|---|
| `extract_with` | all of it: statements, entities, relations; by a model where there is one |
| `statements_in` | what a user says about themselves, or asks to remember |
| `entities_in`, `relations_in` | what a text names, and how it relates |
| `normalised`, `bare_name` | one name for all ways to write it |
| `relatives_in` | who is named by what they are to the user |
| `asked_of_memory`, `about_tools` | what a message wants |
| `secrets_in`, `without_secrets`, `reads_as_instruction` | what must not be kept, or not be trusted |
| `single_valued`, `has_several` | whether an attribute has one value at a time |
| `opposed` | what cannot be true together |
| `words_of_thing` | what tells one thing from another |
| `validity_of` | when it is true |
| `importance_of` | how much it matters |
"""

from memory.reading.commands import about_tools, asked_of_memory
from memory.reading.corrections import opposed
from memory.reading.entities import bare_name, entities_in, normalised
from memory.reading.guard import reads_as_instruction, secrets_in, without_secrets
from memory.reading.importance import importance_of
from memory.reading.intervals import validity_of
from memory.reading.objects import words_of_thing
from memory.reading.relations import relations_in
from memory.reading.rules import has_several, predicate_named, predicates_asked_for, single_valued
from memory.reading.statements import relatives_in, statements_in
from memory.reading.with_model import extract_with

__all__ = [
    "about_tools",
    "asked_of_memory",
    "bare_name",
    "entities_in",
    "extract_with",
    "has_several",
    "importance_of",
    "normalised",
    "opposed",
    "predicate_named",
    "predicates_asked_for",
    "reads_as_instruction",
    "relations_in",
    "relatives_in",
    "secrets_in",
    "single_valued",
    "statements_in",
    "validity_of",
    "without_secrets",
    "words_of_thing",
]
