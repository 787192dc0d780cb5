"""A client that is generated from the OpenAPI document asks, lists runs and searches the library."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.features.api import create_app
from tests.features.api.conftest import QUESTION, Api

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of the package, once its generator had nothing to warn of."""
    folder = tmp_path_factory.mktemp("generated")
    document, package = folder / "openapi.json", "generated_openquery_client"
    document.write_text(json.dumps(create_app().openapi()))
    command = [str(Path(sys.executable).with_name("openapi-python-client")), "generate", "--meta", "none"]
    command += ["--path", str(document), "--output-path", str(folder / package), "--fail-on-warning"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield package
    sys.path.remove(str(folder))


def test_a_generated_client_asks_lists_and_searches(generated: str, api: Api) -> None:
    def module(name: str) -> Any:
        return importlib.import_module(f"{generated}.{name}")

    client = module("client").Client(base_url=api.url, timeout=60)
    models = module("models")
    body = models.ResearchRequest(question=QUESTION)
    run = module("api.questions.research").sync(client=client, body=body)
    assert run.status == "done"
    listed = module("api.runs.list_runs").sync(client=client, limit=1)
    assert listed.runs[0].id == run.id
    refused = module("api.library.search_collection").sync(
        "absent", client=client, body=models.CollectionSearch(query="overlap")
    )
    assert (refused.status, refused.title) == (404, "Not Found")
