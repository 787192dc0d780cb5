"""Answers to the questions of a data set: their metrics, the command, and the chat model as a judge."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from core.analysis.answers.attribution import AttributedSentence, Cell
from core.analysis.answers.llm_judge import Entailment
from core.cli.main import main
from core.errors import BadInput
from core.features.evaluate.answers.answering import Outcome
from core.features.evaluate.answers.answers_folder import FILE, read_answers
from core.features.evaluate.answers.judged_answers import kappa_interval, majority, read_labels
from core.features.evaluate.metrics.answer_metrics import (
    citation_precision,
    citation_recall,
    contains_reference,
    exact_match,
    token_f1,
)
from core.model import Sentence
from tests.services.openai_server import MODEL, FakeOpenAI, failure, streamed

QUESTIONS = {
    "When did the kiln close?": ("The kiln closed in 1911.", "kiln.txt", "1911"),
    "Who owned the tide mill?": ("The tide mill was owned by the port.", "mill.txt", "the port"),
    "Where did coal come from?": ("", "", ""),
}
TEXTS = {
    "kiln.txt": "The kiln was built in 1764 above the harbour. The kiln closed in 1911. Bricks were fired for nine days.",
    "mill.txt": "The tide mill was owned by the port. It had two wheels. It ground barley for the garrison.",
}


def attributed(*cited: tuple[bool, tuple[str, ...]]) -> AttributedSentence:
    """A sentence that cites sources, each with whether it has a similar sentence and which numbers it lacks."""
    cells = tuple(
        Cell(
            source=number,
            similarity=0.9 if similar else 0.1,
            start=0,
            end=0,
            text="",
            cited=True,
            dissimilar=not similar,
            shared_names=(),
            shared_numbers=(),
            missing_numbers=missing,
        )
        for number, (similar, missing) in enumerate(cited, 1)
    )
    sentence = Sentence(start=0, end=0, cites=tuple(range(1, len(cells) + 1)), text="A sentence.")
    return AttributedSentence(sentence=sentence, cells=cells, unknown_numbers=(), flags=())


class TestAgainstReferences:
    @pytest.mark.parametrize(
        ("answer", "references", "match", "f1", "contains"),
        [
            ("The Eiffel Tower!", ["eiffel tower"], 1, 1, 1),
            ("in 1911", ["1911"], 0, 2 / 3, 1),
            ("It closed in 1911, after a fire.", ["1912", "1911"], 0, 2 / 7, 1),
            ("19110", ["1911"], 0, 0, 0),
            ("", ["1911"], 0, 0, 0),
            ("Das „Wasserrad“", ["das wasserrad"], 1, 1, 1),
        ],
    )
    def test_as_squad_and_asqa_count(
        self, answer: str, references: list[str], match: float, f1: float, contains: float
    ) -> None:
        """SQuAD's normalisation drops case, punctuation and articles; the best reference counts."""
        assert exact_match(answer, references) == match
        assert token_f1(answer, references) == pytest.approx(f1)
        assert contains_reference(answer, references) == contains

    def test_repeated_words_are_counted_as_often_as_in_both(self) -> None:
        """precision 2/4, recall 2/3: F1 is 2 * 2 / 7."""
        assert token_f1("tide tide tide mill", ["tide tide wheel"]) == pytest.approx(4 / 7)


class TestCitations:
    """ALCE's definitions (Gao et al. 2023, section 3.3), worked out by hand."""

    def test_a_sentence_is_supported_by_its_citations_together(self) -> None:
        together = attributed((True, ("1911",)), (False, ()))
        alone = attributed((True, ("1911",)))
        uncited = attributed()
        assert citation_recall([together, alone, uncited]) == pytest.approx(1 / 3)

    def test_a_citation_that_adds_nothing_is_imprecise(self) -> None:
        irrelevant_second = attributed((True, ()), (False, ("1911",)))
        both_needed = attributed((True, ("1911",)), (False, ()))
        assert citation_precision([irrelevant_second]) == pytest.approx(1 / 2)
        assert citation_precision([both_needed]) == 1
        assert citation_precision([both_needed], unknown=2) == pytest.approx(2 / 4)

    def test_no_citation_has_no_precision_and_no_sentence_no_figure(self) -> None:
        assert citation_precision([attributed()]) == 0
        assert citation_precision([]) is None
        assert citation_recall([]) is None


class TestAgreement:
    def test_kappa_as_in_the_literature(self) -> None:
        """Cohen's table of two raters with 20, 5, 10 and 15 of 50: observed .7, by chance .5, kappa .4."""
        first = ["yes"] * 25 + ["no"] * 25
        second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
        interval = kappa_interval(first, second)
        assert interval.mean == pytest.approx(0.4)
        assert interval.low < 0.4 < interval.high

    def test_full_agreement_on_a_few_claims_is_not_certain(self) -> None:
        labels = ["yes"] * 10 + ["no"] * 10
        interval = kappa_interval(labels, labels)
        assert (interval.mean, interval.high) == (1, 1)
        assert interval.low == pytest.approx(0.678, abs=1e-3), "Wilson's .839 of the agreement, chance .5"

    def test_full_agreement_is_one_and_chance_is_zero(self) -> None:
        dice = np.random.default_rng(3)
        labels = [str(letter) for letter in dice.choice(["a", "b", "c"], 2_000)]
        assert kappa_interval(labels, labels).mean == 1
        others = [str(letter) for letter in dice.choice(["a", "b", "c"], 2_000)]
        assert abs(kappa_interval(labels, others).mean) < 0.06

    def test_where_it_is_not_defined_it_is_refused(self) -> None:
        with pytest.raises(ValueError, match="one category only"):
            kappa_interval(["a", "a"], ["a", "a"])
        with pytest.raises(ValueError, match="no pairs"):
            kappa_interval(["a"], [])

    def test_more_than_half_of_the_repetitions_decide(self) -> None:
        yes, no, unclear = Entailment.ENTAILED, Entailment.CONTRADICTED, Entailment.UNCLEAR
        assert majority([yes, yes, no]) is True
        assert majority([yes, no, Entailment.NOT_ADDRESSED]) is False
        assert majority([yes, no]) is None
        assert majority([yes, no, unclear]) is None


@dataclass(frozen=True)
class Command:
    """`openquery eval answers` with a data set and a data folder of its own."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def run(self, *options: str) -> tuple[int, str, str]:
        data = self.folder / "questions.csv"
        code = main(["eval", "answers", "--data", str(data), "--out", str(self.out), *options])
        printed = self.capture.readouterr()
        return code, printed.out, printed.err

    def lines(self) -> dict[str, dict[str, object]]:
        """What is kept of each question, by its text."""
        rows = [json.loads(line) for line in (self.out / FILE).read_text().splitlines()[1:]]
        return {row["question"]: row for row in rows}


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    rows = [",".join(f'"{part}"' for part in (question, *rest)) for question, rest in QUESTIONS.items()]
    (tmp_path / "questions.csv").write_text("\n".join(["question,excerpt,source,answer", *rows]))
    return Command(tmp_path, capsys)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        monkeypatch.setenv("OPENQUERY_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENQUERY_CHAT_MODEL", MODEL)
        yield server


def test_quotations_are_measured_without_any_model(command: Command) -> None:
    code, out, err = command.run()
    assert code == 0
    assert "2 questions with an answer, 1 without" in err and "extractive answers" in err
    assert "A quotation supports itself" in err
    rows = command.lines()
    assert set(rows) == set(QUESTIONS)
    kiln = rows["When did the kiln close?"]
    assert "1911" in str(kiln["answer"])
    assert kiln["values"]["contains answer"] == 1  # type: ignore[index]
    assert kiln["values"]["citation recall"] == 1  # type: ignore[index]
    assert "answered" in out and "contains answer" in out
    (line,) = (line for line in out.splitlines() if line.endswith("When did the kiln close?"))
    assert "answered  exact match 0.00  F1 0." in line
    (mean,) = (line for line in out.splitlines() if line.startswith("exact match"))
    assert "0.000 [0.000, 0.658]  2 questions" in mean, "Wilson's interval of 0 in 2"
    kept = {answer.question: answer for answer in read_answers(command.out).answers}
    kiln_answer = kept["When did the kiln close?"]
    assert (kiln_answer.outcome, kiln_answer.references) == (Outcome.ANSWERED, ("1911",))
    (sentence, *_) = kiln_answer.sentences
    cited = sentence.cited[0]
    source = kiln_answer.sources[cited.number - 1]
    assert sentence.supported and cited.supports and kiln_answer.titles[cited.number - 1] == "kiln.txt"
    assert source[cited.start : cited.end] == sentence.text.strip("“”"), (
        "where a quotation stands in its source"
    )


def test_a_question_that_is_answered_is_not_answered_again(command: Command, model: FakeOpenAI) -> None:
    assert command.run()[0] == 0
    questions_asked = len(model.chat_requests)
    assert questions_asked == len(QUESTIONS)
    code, out, err = command.run()
    assert (code, len(model.chat_requests)) == (0, questions_asked)
    assert "3 of them answered already" in err and "token F1" in out


def test_a_folder_of_another_setting_is_not_continued(command: Command) -> None:
    assert command.run()[0] == 0
    setting = command.folder / "knobs.toml"
    setting.write_text("[rank]\ntop_k = 1\n")
    code, _, err = command.run("--knobs", str(setting))
    assert code == BadInput.exit_code
    assert "under defaults" in err


def test_documents_that_changed_are_not_mixed(command: Command) -> None:
    assert command.run()[0] == 0
    (command.folder / "mill.txt").write_text(TEXTS["mill.txt"] + " It burned down.")
    code, _, err = command.run()
    assert code == BadInput.exit_code
    assert "has changed since the first of its questions was measured" in err


def test_failing_model_leaves_its_questions_out_and_says_so(command: Command, model: FakeOpenAI) -> None:
    model.chats.extend([failure(400), streamed("It closed in 1911 [1].")])
    code, out, err = command.run()
    assert code == 1
    assert "1 question failed and is in no mean." in err
    assert sum(bool(row["failed"]) for row in command.lines().values()) == 1
    assert "failed: " in out
    model.chats.clear()
    code, _, err = command.run()
    assert code == 0, "what failed is asked again"
    assert not any(row["failed"] for row in command.lines().values())


def labels_file(folder: Path, count: int = 20) -> Path:
    rows = [
        f"Claim {n} is true.,The text of source {n}.,{'entailed' if n % 2 else 'contradicted'}"
        for n in range(count)
    ]
    path = folder / "labels.csv"
    path.write_text("\n".join(["claim,source,label", *rows]))
    return path


class TestJudge:
    def test_its_scores_are_not_shown_without_its_agreement(
        self, command: Command, model: FakeOpenAI
    ) -> None:
        code, out, err = command.run("--judge")
        assert code == 0
        assert "The judge was not asked" in err
        assert "entailed (judge)" not in out
        assert len(model.chat_requests) == len(QUESTIONS), "answers alone were asked for"

    def test_judge_is_measured_on_labelled_claims_several_times(
        self, command: Command, model: FakeOpenAI
    ) -> None:
        labels = labels_file(command.folder)
        assert command.run()[0] == 0
        answered = len(model.chat_requests)
        model.chat = "\n".join(f"{n}: entailed" for n in range(1, 41))
        code, out, _ = command.run("--judge", "--judge-labels", str(labels), "--judge-repeats", "2")
        assert code == 0
        assert "kappa (judge)       0.000" in out, "who always says the same agrees by chance alone"
        assert "20 labelled claims" in out and "20 the same in all 2 repetitions" in out
        assert "entailed (judge)    1.000" in out
        questions_asked = len(model.chat_requests) - answered
        assert questions_asked and questions_asked % 2 == 0
        judged = read_answers(command.out).judged
        assert judged and judged.header.agreement and judged.header.repeats == 2
        assert set(judged.by_answer.values()) == {1.0}
        assert judged.deviation == 0 and judged.stable and judged.stable.mean == 1
        command.run("--judge", "--judge-labels", str(labels), "--judge-repeats", "2")
        assert len(model.chat_requests) - answered == questions_asked, "replies are cached"

    def test_its_prompt_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "answers", "--judge-prompt"]) == 0
        printed = capsys.readouterr().out
        assert "[system]" in printed and "The text of source 1." in printed and "The claim." in printed

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("claim,label\n", "has no column source"),
            ("claim,source,label\nA,B,perhaps\n", "line 2"),
            ("claim,source,label\nA,B,entailed\n", "agreement needs 20"),
            ("claim,source,label\n" + "A,B,entailed\n" * 20, "so agreement beyond chance is not defined"),
        ],
    )
    def test_labels_that_cannot_be_used_are_refused(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "labels.csv"
        path.write_text(text)
        with pytest.raises(BadInput, match=message):
            read_labels(path)

    def test_without_a_chat_model_there_is_nobody_to_judge(self, command: Command) -> None:
        code, _, err = command.run("--judge", "--judge-labels", str(labels_file(command.folder)))
        assert code == BadInput.exit_code
        assert "There is no chat model to judge." in err
