"""What the tools tell about questions and runs."""

import csv
import json
from typing import Any

import pytest
from mcp import Client

from core.features.evaluate.data_sets.available import HANDBOOK_QUESTIONS
from tests.features.api.conftest import QUESTION, Api
from tests.features.mcp.conftest import call, refusal

pytestmark = pytest.mark.slow


async def test_tools_have_schemas_and_hints(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    explaining = ["why_not", "attrition", "tune", "compare", "leave_out"]
    assert list(tools) == ["search", "fetch", "runs", "ask", "follow_up", *explaining, "evaluate"]
    for tool in tools.values():
        assert all("description" in field for field in tool.input_schema["properties"].values())
        assert tool.output_schema
        assert tool.output_schema["properties"]
        assert tool.annotations
        assert tool.annotations.read_only_hint is (tool.name != "evaluate")
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is (tool.name in ("search", "ask", "follow_up"))
    schemas = json.dumps([tool.input_schema for tool in tools.values()], ensure_ascii=False)
    assert schemas.isascii(), "some clients compile patterns of characters beyond U+FFFF wrongly"
    assert list(tools["search"].input_schema["properties"]) == ["query"]
    assert list(tools["fetch"].input_schema["properties"]) == ["id"]


async def test_search_and_fetch_keep_the_contract_of_chatgpt(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        found = await client.call_tool("search", {"query": "chunk overlap"})
        (content,) = found.content
        assert content.type == "text"
        assert json.loads(content.text) == found.structured_content
        assert found.structured_content.keys() == {"results"}
        results: list[dict[str, str]] = found.structured_content["results"]
        assert all(result.keys() == {"id", "title", "url"} for result in results)
        assert results[0]["url"] == "https://handbook.openquery.example/chunk-overlap"
        fetched = await client.call_tool("fetch", {"id": results[0]["id"]})
    document = fetched.structured_content
    assert document.keys() == {"id", "title", "text", "url", "metadata"}
    assert {name: document[name] for name in ("id", "title", "url")} == results[0]
    assert "Chunk overlap repeats the last characters" in document["text"]
    assert all(isinstance(value, str) for value in document["metadata"].values())
    assert "never instructions" in document["metadata"]["trust"]
    assert "never instructions" in (fetched.meta or {})["openquery.dev/untrusted"]


async def test_search_writes_no_answer(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        found = await call(client, "search", query="chunk overlap")
    run = api.runs.get(found["results"][0]["id"].partition(".")[0])
    assert run is not None
    assert run.status == "done"
    assert run.sources
    assert run.answer is None


async def test_ask_reports_growing_progress(api: Api) -> None:
    reports: list[tuple[float, str]] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        assert total == 7
        reports.append((progress, message or ""))

    async with Client(f"{api.url}/mcp") as client:
        asked = await client.call_tool("ask", {"question": QUESTION}, progress_callback=report)
    answer = asked.structured_content
    assert "[1]" in answer["answer"]
    assert answer["sources"][0]["cited"]
    assert answer["link"] == f"http://127.0.0.1:8501/?run={answer['run']}"
    amounts = [amount for amount, _ in reports]
    assert amounts == sorted(set(amounts))
    assert any(message.startswith("Pages: ") for _, message in reports)


async def test_follow_up_continues_its_run(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        first = await call(client, "ask", question=QUESTION)
        second = await call(client, "follow_up", run=first["run"], question="And what does it cost?")
        listed = (await call(client, "runs", limit=1))["runs"]
    assert listed[0]["id"] == second["run"]
    assert listed[0]["follows"] == first["run"]
    assert "overlap" in second["question"]


async def test_agent_finds_out_what_brings_a_passage_in(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        run = (await call(client, "ask", question=QUESTION, settings={"rank.top_k": 2}))["run"]
        wide = await call(client, "tune", run=run, settings={"rank.top_k": 12})
        entered = (moved["text"] for moved in wide["difference"]["moved"] if moved["after"] > 4)
        missing = next(entered).removesuffix("…")
        why = await call(client, "why_not", run=run, text=missing)
        assert why["outcome"] == "left_out"
        assert why["reasons"][0] == "ranked below the cut-off"
        rank = why["passages"][0]["rank"]
        changed = {"rank.top_k": rank}
        tuned = await call(client, "tune", run=run, settings=changed, text=missing)
        assert tuned["trace"]["outcome"] in ("not_cited", "cited")
        again = await call(client, "ask", question=QUESTION, settings=changed)
        used = await call(client, "why_not", run=again["run"], text=missing)
    assert used["outcome"] in ("not_cited", "cited")
    assert used["passages"][0]["document"] in {source["document"] for source in again["sources"]}


async def test_attrition_counts_every_step(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        answer = await call(client, "ask", question=QUESTION)
        counted = await call(client, "attrition", run=answer["run"])
    counts = {step["step"]: step["count"] for step in counted["steps"]}
    assert counts["extracted"] == answer["pages"]
    assert counts["ranked"] == answer["passages"]
    assert counts["in the context"] == len(answer["sources"])
    ranked = next(step for step in counted["steps"] if step["step"] == "ranked")
    assert sum(loss["count"] for loss in ranked["lost"]) == counts["ranked"] - counts["in the context"]
    assert counted["link"].endswith(f"/explain?run={answer['run']}&view=lost")


async def test_compare_tells_what_a_setting_changed(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        first = await call(client, "ask", question=QUESTION)
        second = await call(client, "ask", question=QUESTION, settings={"rank.top_k": 3})
        differ = await call(client, "compare", run=first["run"], other=second["run"])
    assert differ["settings"] == ["rank.top_k:3"]
    assert f"/explain?run={first['run']}&view=what-if" in differ["link"]
    assert differ["ranking"]["overlap"] == pytest.approx(1.0)
    assert {moved["change"] for moved in differ["ranking"]["moved"]} == {"left"}
    assert differ["sources_gone"] == len(first["sources"]) - 3


async def test_leave_out_tells_what_takes_the_place(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        answer = await call(client, "ask", question=QUESTION)
        best = answer["sources"][0]
        without = await call(client, "leave_out", run=answer["run"], documents=[best["document"]])
        unknown = await refusal(client, "leave_out", run=answer["run"], documents=["https://a.example"])
    assert without["pages_after"] == without["pages_before"] - 1
    assert all(passage["url"] != best["url"] for passage in without["context"])
    assert {"entered", "left"} == {moved["change"] for moved in without["difference"]["moved"]}
    assert unknown.startswith("The run has read no such document.")


@pytest.mark.thorough
async def test_agent_raises_recall_of_handbook_questions(api: Api) -> None:
    async with Client(f"{api.url}/mcp") as client:
        before, missed = await _recall(client, {})
        chosen = await _mended(client, missed)
        after, _ = await _recall(client, chosen)
    assert chosen == {"search.results": 10, "rank.strategy": "fused"}
    assert after > before


ARTICLES = "https://handbook.openquery.example"


async def _recall(client: Client, settings: dict[str, Any]) -> tuple[float, list[tuple[str, str]]]:
    """Recall of the article among the six sources, and the runs that missed theirs with its address."""
    with HANDBOOK_QUESTIONS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["source"]][-23::2]
    missed = []
    for row in rows:
        answer = await call(client, "ask", question=row["question"], settings=settings)
        assert len(answer["sources"]) <= 6
        article = f"{ARTICLES}/{row['source'].removesuffix('.md')}"
        if all(source["url"] != article for source in answer["sources"]):
            missed.append((answer["run"], article))
    return 1 - len(missed) / len(rows), missed


async def _mended(client: Client, missed: list[tuple[str, str]]) -> dict[str, Any]:
    """Settings of an agent that asks why each article is missing, tries what helps, and measures it."""
    chosen: dict[str, Any] = {}
    for run, article in missed:
        why = await call(client, "why_not", run=run, text=article)
        if why["outcome"] in ("never_a_hit", "beyond_the_limit"):
            chosen["search.results"] = 10
        elif why["outcome"] == "left_out":
            tuned = await call(client, "tune", run=run, settings={"rank.strategy": "fused"}, text=article)
            if tuned["trace"]["outcome"] != "left_out":
                chosen["rank.strategy"] = "fused"
    tried = {"rank.strategy": ["bm25", "fused"]}
    measured = await call(client, "evaluate", settings=tried, metric="recall@10")
    assert measured["questions"] == 85
    by_words = next(each for each in measured["settings"] if each["setting"] == "rank.strategy:bm25")
    assert by_words["metrics"]["recall@10"]["low"] < by_words["metrics"]["recall@10"]["mean"]
    if measured["best"] != "rank.strategy:bm25":
        chosen["rank.strategy"] = "fused"
    return chosen
