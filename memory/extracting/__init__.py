"""From a text to what is worth remembering of it: pure functions, by rules that are data.

| function | what comes back |
|---|---|
| `extract_with` | all of it: statements, entities, relations; by a model where there is one |
| `statements_in` | what a user says about themselves, or asks to remember |
| `entities_in`, `relations_in` | what a text names, and how it relates |
| `normalised` | one name for all ways to write it |
| `asked_of_memory`, `about_tools` | what a message wants |
| `secrets_in`, `without_secrets`, `reads_as_instruction` | what must not be kept, or not be trusted |
| `single_valued`, `has_several` | whether an attribute has one value at a time |
| `opposed`, `sides_in` | what cannot be true together |
| `validity_of` | when it is true |
| `importance_of` | how much it matters |
"""

from memory.extracting.commands import about_tools, asked_of_memory
from memory.extracting.corrections import opposed, sides_in
from memory.extracting.entities import entities_in, normalised
from memory.extracting.guard import reads_as_instruction, secrets_in, without_secrets
from memory.extracting.importance import importance_of
from memory.extracting.intervals import validity_of
from memory.extracting.predicates import predicate_named, predicates_asked_for, single_valued
from memory.extracting.relations import relations_in
from memory.extracting.rules import has_several
from memory.extracting.statements import statements_in
from memory.extracting.with_model import extract_with

__all__ = [
    "about_tools",
    "asked_of_memory",
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
    "secrets_in",
    "sides_in",
    "single_valued",
    "statements_in",
    "validity_of",
    "without_secrets",
]
