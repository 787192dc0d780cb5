from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.analysis.answers.answer_comparison import MOST_SENTENCES, compare_answers
from core.analysis.answers.answer_stats import current_version, versions
from core.analysis.text_diff import DiffKind
from core.model import Usage
from core.run.state import AnswerVersion, Run
from core.stages.check import check
from core.stages.rank import sources
from tests.analysis.sample import answered, run_of

FIRST = "A red boat lies there [1]. Clouds drift [2]. Lamps cost little."
RUN = run_of(answer=FIRST, top_k=2)


def version_of(run: Run) -> AnswerVersion:
    version = current_version(run)
    assert version is not None
    return version


def swapped(run: Run, text: str) -> Run:
    """The run with its sources in the other order, and another answer."""
    assert run.index is not None and run.ranking is not None
    ranking = replace(run.ranking, context=run.ranking.context[::-1])
    return answered(
        replace(run, ranking=ranking, sources=sources(ranking, run.index, run.pages, run.knobs.rank)), text
    )


def test_the_present_answer_is_the_last_version() -> None:
    earlier = version_of(RUN)
    run = replace(answered(RUN, "Another."), earlier_answers=(earlier,))
    assert [version.answer.text for version in versions(run)] == [FIRST, "Another."]
    assert versions(run_of()) == ()


def test_sentences_are_kept_left_out_and_added() -> None:
    comparison = compare_answers(
        version_of(RUN), version_of(answered(RUN, "A red boat lies there [1]. Rain falls [2]."))
    )
    assert [(piece.kind, piece.text, piece.cites) for piece in comparison.pieces] == [
        (DiffKind.COMMON, "A red boat lies there.", (1,)),
        (DiffKind.REMOVED, "Clouds drift.", (2,)),
        (DiffKind.REMOVED, "Lamps cost little.", ()),
        (DiffKind.ADDED, "Rain falls.", (2,)),
    ]
    assert comparison.similarity == 2 / 5
    assert comparison.citations_changed == 0


def test_another_form_of_the_same_sentences_is_no_difference() -> None:
    listed = (
        "## Boats\n\n- **A red boat lies there.** [1]\n- Clouds drift [2]\n\n| |\n|-|\n| Lamps cost little |"
    )
    comparison = compare_answers(version_of(RUN), version_of(answered(RUN, listed)))
    assert comparison.similarity == 1
    assert comparison.citations_changed == 0


def test_rows_of_a_table_are_compared_one_by_one() -> None:
    before, after = ("| a | b |\n|---|---|\n| boat | " + cost + " |\n| lamp | 2 [1] |" for cost in "13")
    comparison = compare_answers(version_of(answered(RUN, before)), version_of(answered(RUN, after)))
    assert [(piece.kind, piece.text) for piece in comparison.pieces] == [
        (DiffKind.REMOVED, "boat; 1"),
        (DiffKind.ADDED, "boat; 3"),
        (DiffKind.COMMON, "lamp; 2"),
    ]


def test_sentences_beyond_the_limit_are_only_counted() -> None:
    many = version_of(answered(RUN, "- point\n" * (MOST_SENTENCES + 5)))
    assert compare_answers(many, many).left_out == 10


def test_a_source_under_another_number_is_the_same_source() -> None:
    comparison = compare_answers(version_of(RUN), version_of(swapped(RUN, FIRST.replace("[1]", "[2]", 1))))
    assert [piece.kind for piece in comparison.pieces] == [DiffKind.COMMON] * 3
    assert comparison.citations_changed == 1, (
        "the boat still cites its passage, the clouds now cite the boat's"
    )


def test_what_an_answer_took_is_counted_where_reported() -> None:
    plain = version_of(RUN)
    paid = replace(
        plain, answer=replace(plain.answer, usage=Usage(prompt_tokens=90, completion_tokens=12, cost=0.25))
    )
    comparison = compare_answers(plain, paid)
    assert comparison.before.usage is None
    assert comparison.after.usage == Usage(prompt_tokens=90, completion_tokens=12, cost=0.25)
    assert (
        comparison.before.sentences,
        comparison.before.sentences_cited,
        comparison.before.sources_cited,
    ) == (3, 2, 2)
    assert comparison.before.context_tokens == -(-sum(len(s.passage.text) for s in plain.sources) // 4)


@given(st.lists(st.sampled_from(["Boats [1].", "Rain [2].", "Lamps.", "Clouds [1][2]."]), max_size=6))
def test_an_answer_does_not_differ_from_itself(parts: list[str]) -> None:
    text = " ".join(parts)
    one = AnswerVersion(
        answer=replace(version_of(RUN).answer, text=text),
        sources=RUN.sources,
        check=check(text, range(1, len(RUN.sources) + 1)),
    )
    comparison = compare_answers(one, one)
    assert comparison.similarity == 1
    assert comparison.citations_changed == 0
