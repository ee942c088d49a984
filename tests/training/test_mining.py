"""What is taken for a question, where its answer stands, and what is never read."""

import subprocess
from pathlib import Path

import pytest

from pipeline.models.embedding import OnnxEncoder
from pipeline.models.onnx import BUNDLED_FOLDER
from training.data import Source, check, load_data, load_sources
from training.mine import kind_of, mine
from training.negatives import add_negatives

FAQ = """# Pump

## FAQ

**How often is the filter changed?**

Every ninety days of operation the filter is taken out, washed with warm water and put back into its housing.

**Can I run the pump dry?**

A: Never: without coolant its bearings have no lubrication at all, run hot within a minute and seize for good.

## The pump does not start

Check the breaker on the left panel first, then measure the voltage at the terminals,
and replace the fuse if needed.

## See the previous section

Nothing that anybody would ask for stands in this section, which is here to be told from the others by
its heading.
"""
OTHERS = "".join(
    f"\n## Pump part {part}\n\nThe {part} of the pump is changed every year, after the filter "
    "was taken out and washed with warm water.\n"
    for part in ("seal", "bearing", "housing", "breaker", "fuse", "impeller")
)


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("How do I change the filter?", "question"),
        ("When to change a filter", "question"),
        ("Pump fails to start", "problem"),
        ("Error handling", ""),
        ("What is this place?", ""),
        ("Filter maintenance", ""),
        ("Why?", ""),
    ],
)
def test_headings_that_ask_or_complain_are_questions(heading: str, kind: str) -> None:
    assert kind_of(heading) == kind


def test_questions_are_mined_with_their_answers_and_negatives(tmp_path: Path) -> None:
    commit = clone(tmp_path / "clones" / "pumps+manual", {"docs/faq.md": FAQ + OTHERS, "blog/old.md": FAQ})
    data = tmp_path / "data"

    counts = mine([Source("pumps/manual", commit, "MIT")], tmp_path / "clones", into=data)
    assert (counts["faq"], counts["problem"], counts["repositories"]) == (2, 1, 1)

    assert add_negatives(data, OnnxEncoder(BUNDLED_FOLDER)) == 3
    mined = load_data(data)
    filter_question = mined.questions[0]
    assert filter_question.text == "How often is the filter changed?"
    assert mined.sections[filter_question.section].text.startswith("Every ninety days")
    assert mined.sections[mined.questions[1].section].text.startswith("Never")
    negatives = mined.negatives[0]
    assert filter_question.section not in (*negatives.found, *negatives.beside)
    assert all("Pump part" in mined.sections[number].headings[-1] for number in negatives.found[:3])
    assert mined.sections[negatives.beside[0]].headings[-1] == "Can I run the pump dry?"


@pytest.mark.parametrize(
    ("repository", "licence"),
    [
        ("rust-lang/book", "MIT"),
        ("MicrosoftDocs/PowerShell-Docs", "CC-BY"),
        ("a/b", "CC-BY-SA"),
        ("a/b", "GPL"),
    ],
)
def test_what_is_measured_on_and_what_may_not_be_given_away_is_refused(repository: str, licence: str) -> None:
    with pytest.raises(SystemExit):
        check(Source(repository, "0" * 40, licence))


def test_all_listed_sources_may_be_trained_on() -> None:
    assert len({source.repository for source in load_sources()}) > 100


def clone(folder: Path, files: dict[str, str]) -> str:
    """A repository with these files; returns its commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    found = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return found.stdout.strip()
