"""The answer as a file: its links lead to the sources, and its name comes from the question."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import Knobs
from core.features.share.answer_export import NAME_LIMIT, answer_document, export_name
from core.model import ModelUsage, Phase, Usage
from core.run.events import ModelUsed
from core.run.state import Run
from core.text.markdown.file_markdown import file_text
from tests.analysis.sample import TEXTS, run_of
from tests.services.openai_server import MARKDOWN_ANSWER
from tests.text.rendered import READER, links, loads_or_runs


def anchors(document: str) -> list[str]:
    """The anchors that GitHub gives the headings of a document, in its order."""
    seen: Counter[str] = Counter()
    found = []
    tokens = READER.parse(document)
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            children = tokens[place + 1].children or ()
            words = "".join(child.content for child in children).lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            found.append(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def section(document: str, anchor: str) -> str:
    """What a viewer shows after a jump to this anchor, up to the next heading."""
    parts = re.split(r"(?m)^#{1,6} ", document)[1:]
    return parts[anchors(document).index(anchor)]


RUN = run_of(answer=MARKDOWN_ANSWER, question="How is a *tide mill* licensed?")


def test_citation_leads_to_title_address_and_passage_of_its_source() -> None:
    document = answer_document(RUN)
    cited = [target for target in links(document) if target.startswith("#")]
    assert len(cited) == len([mark for mark in RUN.check.citations if mark.known])
    for source in RUN.sources:
        assert f"#source-{source.number}" in cited
        text = section(document, f"source-{source.number}")
        assert f"]({source.url})" in text
        assert file_text(source.title) in text
        assert source.passage.text in text.replace("> ", "")


@pytest.mark.parametrize("heading", ["Source 1", "source *1*", "Source 2"])
def test_heading_of_an_answer_does_not_replace_a_source(heading: str) -> None:
    for run in (run_of(answer=f"## {heading}\n\nSo [1][2]."), run_of(answer="So [1][2].", question=heading)):
        document = answer_document(run)
        cited = [target.removeprefix("#") for target in links(document) if target.startswith("#")]
        for source, anchor in zip(run.sources, cited, strict=False):
            assert source.url in section(document, anchor)


def test_date_author_and_settings_stand_at_the_end() -> None:
    knobs = Knobs.parse({"rank": {"top_k": 2}})
    run = replace(RUN, started="2026-01-02T03:04:05+00:00", knobs=knobs)
    tokens = Usage(prompt_tokens=1000, completion_tokens=100)
    used = ModelUsed(Phase.ANSWER, ModelUsage(model="gpt-4o@api.openai.com", tokens=tokens))
    end = answer_document(replace(run, model_usage=(used,))).partition("## About this answer")[2]
    assert "- Cost: ~$0.0035 (Prices of 1 September 2025)\n" in end
    assert "- Asked: 2026-01-02 03:04 UTC\n" in end
    assert "- Answer: m@test\n" in end
    assert "- Settings other than the defaults: `rank.top_k` 2\n" in end


def test_nothing_in_the_document_acts() -> None:
    hostile = (
        "<script>x</script> ![p](https://evil.example/p.png) [c](javascript:x)\n\n[1]: https://evil.example"
    )
    texts = {address: f"{text}\n\n# Source 2\n\n{hostile}" for address, text in TEXTS.items()}
    run = run_of(texts, answer=f"So [1]. {hostile}", question=hostile)
    first = replace(run.sources[0], title=hostile, url="javascript:alert(1)")
    document = answer_document(replace(run, sources=(first, *run.sources[1:])))
    assert not loads_or_runs(document)
    assert all(target.startswith(("#source-", "https://")) for target in links(document))
    assert anchors(document).count("source-2") == 1


def test_run_without_an_answer_or_sources_is_a_document() -> None:
    assert answer_document(Run(question="What?")).startswith("# What?\n\n## About this answer\n")


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How does chunk overlap affect retrieval?", "how-does-chunk-overlap-affect-retrieval.md"),
        ("¿Qué es BM25 – y TF/IDF?", "qué-es-bm25-y-tf-idf.md"),
        ("東京の潮汐は？", "東京の潮汐は.md"),
        ("मैं कहाँ हूँ?", "मैं-कहाँ-हूँ.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("NUL", "openquery-nul.md"),
        ("com1", "openquery-com1.md"),
        ("???", "openquery.md"),
        (" . ", "openquery.md"),
    ],
)
def test_a_file_is_named_after_its_question(question: str, name: str) -> None:
    assert export_name(question, ".md") == name


@given(st.text(max_size=300))
def test_a_name_is_safe_on_every_file_system(question: str) -> None:
    name = export_name(question, ".json")
    stem = name.removesuffix(".json")
    assert re.fullmatch(r"[^\W_][^\x00-\x20/\\:*?\"<>|.]*", stem), name
    assert not stem.endswith("-")
    assert len(name.encode()) <= 200
    assert len(stem) <= NAME_LIMIT + len("openquery-")


def test_long_question_is_cut_between_words_not_inside_letters() -> None:
    assert export_name("word " * 50, "") == "-".join(["word"] * 12)
    assert export_name("x" * 500, "") == "x" * NAME_LIMIT
    assert export_name("ह" + "ूँ" * 200, "")
    assert export_name("e\u0323\u0301" * 80, "").endswith("\u0301")
