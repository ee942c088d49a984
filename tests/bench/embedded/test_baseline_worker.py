"""The baseline embeds what Athena embeds; seen in its own environment, where that has been made."""

import json
import subprocess

import pytest

from bench.embedded.baseline_side import WORKER
from bench.embedded.environment import FOLDER, STAMP

PYTHON = FOLDER / "bin" / "python"
pytestmark = pytest.mark.skipif(
    not (FOLDER / STAMP).exists(), reason="the baseline's environment is made by `make bench` only"
)
CODE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from llama_index.core.schema import MetadataMode
from baseline_worker import load_nodes
sections, leaves = load_nodes(Path(sys.argv[2]), "docs")
texts = [leaf.get_content(MetadataMode.EMBED) for leaf in leaves]
print(json.dumps([texts, [leaf.parent_node.node_id for leaf in leaves], len(sections[0].child_nodes)]))
"""


def test_leaves_are_embedded_with_their_headings_as_athena_does(tmp_path):
    leaves = [
        {"id": "1", "section": "s", "source": "a.md", "prefix": "Fan > Speed: ", "text": "It turns."},
        {"id": "2", "section": "s", "source": "a.md", "prefix": "Fan: | rpm |\n", "text": "| 900 |"},
        {"id": "3", "section": "s", "source": "a.md", "prefix": "", "text": "{braces} stay"},
        {"id": "4", "section": "s", "source": "a.md", "prefix": "A {b}: ", "text": "c"},
    ]
    sections = [{"id": "s", "source": "a.md", "heading_path": ["Fan"], "text": "all", "sentences": 4}]
    for name, rows in (("leaves", leaves), ("sections", sections)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [PYTHON, "-c", CODE, WORKER.parent, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    texts, parents, children = json.loads(done.stdout.splitlines()[-1])
    assert texts == [row["prefix"] + row["text"] for row in leaves]
    assert parents == ["docs/s"] * 4
    assert children == 4
