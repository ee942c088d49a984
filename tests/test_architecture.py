"""The house: who imports whom, what is caught, and what a quick command never loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ui.pages import PAGES

pytestmark = pytest.mark.xdist_group("architecture")  # each file is parsed once

ROOT = Path(__file__).parent.parent
SCRIPTS_OF_THEMSELVES = ("tests/pipeline/stores/test_memory_kills.py",)
"""Their child processes import them."""
SHIPPED = ("agent", "athena", "doors", "memory", "pipeline", "readers", "mission", "ui", "evals")
PACKAGES = (*SHIPPED, "bench", "training")

# Who may import whom among what is ours. The command line, which shows what `athena` assembles, is a part
# of its own.
ALLOWED = {
    "app": {"ui"},
    "agent": {"agent", "athena", "pipeline"},
    "ui": {
        *("ui", "agent", "doors", "athena", "memory", "pipeline", "pipeline.ingesting", "readers"),
        *("readers.dialects", "mission"),
    },
    "athena.cli": {
        *("athena.cli", "athena", "ui", "agent", "doors", "memory", "pipeline"),
        *("readers.dialects", "mission", "evals"),
    },
    "doors": {"doors", "athena", "memory", "pipeline", "pipeline.ingesting"},
    "athena": {"athena", "memory", "pipeline", "pipeline.ingesting", "readers", "mission"},
    "evals": {"evals", "athena", "athena.cli", "memory", "pipeline", "readers", "readers.dialects"},
    "training": {"training", "pipeline"},
    "bench": {"bench", "evals", "athena", "pipeline", "readers"},
    "memory": {"memory", "pipeline"},
    "pipeline": {"pipeline", "pipeline.ingesting", "readers.dialects"},
    "pipeline.ingesting": {"pipeline", "pipeline.ingesting", "readers"},
    "readers.dialects": set(),
    "readers": {"readers", "readers.dialects"},
    "mission": {"mission"},
}
PARTS = sorted(ALLOWED, key=len, reverse=True)

# Not installed by default: imported inside functions.
HEAVY = ("torch", "transformers", "sentence_transformers", "onnx", "onnxscript", "tensorflow")

# Where packages may be imported: drivers of stores, what is heavy, and LlamaIndex, which shows our parts as
# its own or asks its models. All else knows their names for type checks at most.
ONLY_IN = {
    **dict.fromkeys(("tantivy", "sqlite3", "weaviate", "pymongo", "neo4j"), ("pipeline/stores/",)),
    **dict.fromkeys(HEAVY, ("pipeline/models/", "bench/", "training/")),
    "llama_index": (
        *("agent/", "pipeline/llamaindex/", "pipeline/stores/neo4j.py"),
        *("readers/llamaindex.py", "evals/", "bench/"),
    ),
}

FILES = [ROOT / "app.py", *(path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))]
NAMES = [str(path.relative_to(ROOT)) for path in FILES]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


ALL_MODULES = {module_of(path) for path in FILES}


@cache
def parse(name: str) -> ast.Module:
    return ast.parse((ROOT / name).read_text(encoding="utf-8"), filename=name)


@cache
def imports_of(name: str) -> tuple[tuple[str, ast.AST], ...]:
    """Everything that a file imports, by full names of modules, or of what is in them."""
    found: list[tuple[str, ast.AST]] = []
    for node in ast.walk(parse(name)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name}:{node.lineno} imports relatively"
            found += [(f"{node.module}.{alias.name}", node) for alias in node.names]
    return tuple(found)


def ours(full: str) -> str:
    """Our module that a full name is, or is in; "" for anything else."""
    while full and full not in ALL_MODULES:
        full = full.rpartition(".")[0]
    return full


def imported_modules(name: str) -> set[str]:
    """Our modules that the file names."""
    return {ours(full) for full, _ in imports_of(name)} - {""}


def part_of(module: str) -> str:
    """The part of the house that a module belongs to."""
    return next(part for part in PARTS if module == part or module.startswith(f"{part}."))


def test_arrows_point_inwards() -> None:
    wrong = [
        f"{name} must not import {module}"
        for name in NAMES
        if name != "athena/__main__.py"  # starts the command line
        for module in imported_modules(name)
        if part_of(module) not in ALLOWED[part_of(module_of(ROOT / name))]
    ]
    assert not wrong, wrong


def test_no_module_imports_itself_in_a_circle() -> None:
    """Imports inside functions or for types count, too: they only hide a circle."""
    graph = {module_of(ROOT / name): imported_modules(name) - {module_of(ROOT / name)} for name in NAMES}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


@cache
def types_only(name: str) -> frozenset[int]:
    """The ids of nodes that only type checkers run."""
    blocks = (
        node
        for node in ast.walk(parse(name))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    )
    return frozenset(id(node) for block in blocks for node in ast.walk(block))


def test_packages_are_imported_in_their_places_alone() -> None:
    wrong = [
        f"{name}:{node.lineno} imports {full}"  # type: ignore[attr-defined]
        for name in NAMES
        for full, node in imports_of(name)
        if id(node) not in types_only(name)
        if not name.startswith(ONLY_IN.get(full.split(".")[0], ("",)))
    ]
    assert not wrong, wrong


def test_what_is_not_installed_by_default_is_imported_where_it_is_needed() -> None:
    for name in NAMES:
        at_once = {id(node) for node in parse(name).body}
        found = [full for full, node in imports_of(name) if id(node) in at_once]
        assert not [full for full in found if full.split(".")[0] in HEAVY], name


def test_every_package_that_is_imported_is_declared() -> None:
    """What only another package brings along may go with that package's next version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    declared = {canonicalize_name(Requirement(line).name) for line in lines}
    known = packages_distributions()
    files = (name for name in NAMES if name.startswith(SHIPPED))
    used = {full.partition(".")[0] for name in files for full, _ in imports_of(name)}

    def is_declared(module: str) -> bool:
        names = map(canonicalize_name, known.get(module, ()))  # none: it is not installed here
        return module not in known or any(
            f"{name}-".startswith(f"{one}-") for name in names for one in declared
        )

    missing = {one for one in used if not is_declared(one)}
    assert not missing - {*sys.stdlib_module_names, *PACKAGES, "app"}, missing


def test_the_pages_about_the_house_name_files_that_exist() -> None:
    path = re.compile(rf"`((?:{'|'.join([*PACKAGES, 'tests', 'docs', 'docs_corpus', 'scripts'])})/[\w./-]*)")
    pages = [ROOT / "docs" / "architecture.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    named = {(page.name, name) for page in pages for name in path.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 30
    missing = sorted(f"{page} names {name}" for page, name in named if not (ROOT / name).exists())
    assert not missing, missing


# -- what a quick command loads ------------------------------------------------------------------------

SLOW = (
    *("llama_index.core", "onnxruntime", "streamlit", "nltk", "torch", "numpy", "httpx", "mcp", "fastapi"),
    *("doors", "agent"),
)
ANSWERING = ["numpy", "onnxruntime"]  # what the bundled embedding model needs
REPORT = "import sys; print('LOADED', *[name for name in {slow!r} if name in sys.modules])"


def loaded(code: str, *arguments: str, cwd: Path) -> list[str]:
    """The slow modules that a program has loaded by its end."""
    program = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{code}\n{REPORT.format(slow=SLOW)}"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.rpartition("LOADED")[2].split()


RUN = """
from athena import cli
for command in sys.argv[1:]:
    try:
        cli.app(command.split())
    except SystemExit as end:
        assert not end.code, end.code
"""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one manual, indexed in `data`."""
    folder = tmp_path_factory.mktemp("quick")
    (folder / "manual").mkdir()
    (folder / "manual" / "fan.md").write_text("# Fan\n\nIt hums.\n", encoding="utf-8")
    found = loaded(RUN, "ingest manual --data-dir data", cwd=folder)
    assert sorted(found) == ["nltk", *ANSWERING]  # these tests can see what is loaded
    return folder


def test_help_is_quick(tmp_path: Path) -> None:
    assert loaded(RUN, "--help", "search --help", "eval retrieval --help", cwd=tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "search hums",
        "ask hums? --llm none --json",
        "ask hums? --json",  # looks for a model, where none can be
    ],
)
def test_searching_and_quoting_load_the_embedding_model_and_nothing_else_slow(
    indexed: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATHENA_OLLAMA_URL", "http://127.0.0.1:9")
    assert sorted(loaded(RUN, f"{command} --data-dir data", cwd=indexed)) == ANSWERING


# -- pages: a folder each, which know no other page ------------------------------------------------------

PAGES_MAY_KNOW = {
    "shared": {"shared", "pages"},
    "conversation": {"conversation", "shared"},
    **{page: {page, "conversation", "shared"} for page in (entry.key for entry in PAGES)},
}


@pytest.mark.parametrize("room", PAGES_MAY_KNOW)
def test_a_room_knows_only_what_is_shared(room: str) -> None:
    files = [name for name in NAMES if name.startswith(f"ui/{room}/")]
    known = {
        module.split(".")[1] for name in files for module in imported_modules(name) if module[:3] == "ui."
    }
    assert files
    assert known <= PAGES_MAY_KNOW[room]


def test_no_test_module_is_imported_by_another() -> None:
    importing = re.compile(r"^\s*from tests\.[\w.]*\btest_\w+ import", re.MULTILINE)
    files = sorted((ROOT / "tests").rglob("*.py"))
    own = {name: importing.findall(name.read_text(encoding="utf-8")) for name in files}
    found = {f"{name.relative_to(ROOT)}: {line.strip()}" for name, lines in own.items() for line in lines}
    assert {line for line in found if line.split(":")[0] not in SCRIPTS_OF_THEMSELVES} == set()
