"""The whole OpenAPI, by requests that are made up from it; its examples are answered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors.conftest import Serve

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "allow_header_conformance",
)


@pytest.mark.slow
def test_made_up_requests_get_what_the_openapi_says(serve: Serve, tmp_path: Path) -> None:
    served = serve(doors="api", doors_a_minute=1_000_000, doors_at_once=100)
    program = Path(sys.executable).with_name("schemathesis")
    words = [program, "run", f"{served.address}/api/openapi.json", "--checks", ",".join(CHECKS)]
    words += ["--max-examples", "5", "--seed", "1", "--phases", "examples,coverage,fuzzing"]
    words += ["--exclude-path", "/api/plan"]  # 503, as there is no language model
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout[-5000:]


def test_each_body_has_an_example_that_is_answered(serve: Serve) -> None:
    client = serve(doors="api").client()
    paths = client.get("/api/openapi.json").json()
    schemas = paths["components"]["schemas"]
    for path, methods in paths["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation and "{" not in path:
                [content] = operation["requestBody"]["content"].values()
                schema = schemas[content["schema"]["$ref"].rpartition("/")[2]]
                answered = client.request(method, path, json=schema["examples"][0])
                # A plan needs a language model.
                assert answered.is_success or answered.status_code in (404, 503), (path, answered.text)
