"""The examples of docs/stages.md work, in the order in which they stand there."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from core import ports
from core.run.state import RunStatus

DOCUMENT = (Path(__file__).parent.parent / "docs" / "stages.md").read_text("utf-8")


async def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path))
    names: dict[str, Any] = {}
    for example in re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL):
        code = compile(example, "docs/stages.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running = eval(code, names)
        if inspect.isawaitable(running):
            await running
    assert [query.text for query in names["queries"]] == [names["question"]]
    assert len(names["context"]) == names["knobs"].rank.top_k == len(names["reranked"].context)
    assert names["citations"].cited
    run = names["run"]
    assert run.status is RunStatus.DONE
    assert (run.text, run.check.cited) == ("Overlap repeats text at the borders [1].", (1,))
    assert run.ranking.reranker == "shortest"
    assert not run.search_faults and run.pages["https://a.example"].title == "Overlap"


def test_there_is_an_example_of_every_stage_and_port() -> None:
    headings = set(re.findall(r"\*\*(\w+)\*\*:", DOCUMENT))
    stages = {path.stem for path in (Path(__file__).parent.parent / "core" / "stages").glob("*.py")}
    parts = {
        "__init__",
        "egress",
        "metered_models",
        "partial_results",
        "run_budget",
        "streams",
        "time_budget",
    }
    protocols = {name for name, value in vars(ports).items() if getattr(value, "_is_protocol", False)}
    assert headings == {stage.capitalize() for stage in stages - parts} | protocols - {
        "ModelPort",
        "Protocol",
    }
