"""The entry of evaluation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.cli.shared_arguments import add_commands, add_connections, add_file, add_scheduler
from core.runtime.features import Command, Feature, Page

_ONE_SETTING = "a TOML file with one value for each knob"


def _add_run(target: argparse.ArgumentParser) -> None:
    _add_data(target)
    add_file(
        target,
        "--knobs",
        'a TOML file such as: [rank] strategy = ["cosine", "bm25", "fused"]. A list holds the values to try '
        "(default: the default settings alone)",
    )
    add_file(target, "--out", "keep the results here; what it has already is not run again", "FOLDER")
    add_file(
        target,
        "--trec",
        "write the judgements and the ten first documents of each setting here, for trec_eval",
        "FOLDER",
    )
    add_scheduler(target)
    add_connections(target)


def _add_freeze(target: argparse.ArgumentParser) -> None:
    _add_data(target)
    add_file(target, "--knobs", _ONE_SETTING)
    add_file(target, "--out", "the suite to write, a .zip", required=True)
    add_connections(target)


def _add_check(target: argparse.ArgumentParser) -> None:
    add_file(target, "folder", "a folder of eval run --out, or a suite of eval freeze", "KEPT")
    _add_data(target, None)
    add_file(target, "--knobs", f"{_ONE_SETTING} (default: the kept setting)")
    _add_comparison(target)
    target.add_argument(
        "--tolerance",
        type=float,
        default=0.02,
        metavar="X",
        help="the largest mean loss that passes (default 0.02)",
    )
    add_file(target, "--junit", "write a JUnit report here")
    add_connections(target)


def _add_compare(target: argparse.ArgumentParser) -> None:
    add_file(target, "folders", "folders of eval run --out", "FOLDER", nargs="+")
    _add_comparison(target)


def _add_answers(target: argparse.ArgumentParser) -> None:
    _add_data(target)
    add_file(target, "--knobs", f"{_ONE_SETTING} of chunk, rank and answer")
    folder_help = "keep the answers here; a question that is answered already is not answered again"
    add_file(target, "--out", folder_help, "FOLDER")
    judge = target.add_argument_group("the chat model as a judge")
    judge.add_argument("--judge", action="store_true", help="have the sentences of the answers judged")
    add_file(
        judge,
        "--judge-labels",
        "a .csv with the columns claim, source and label (entailed, contradicted or not addressed): the judge's "
        "agreement with it is shown with its scores, which are not shown without",
    )
    judge.add_argument(
        "--judge-repeats", type=int, default=3, metavar="N", help="how often each claim is judged (default 3)"
    )
    judge.add_argument("--judge-prompt", action="store_true", help="print the judge's prompt and end")
    add_connections(target)


def _add_data(target: argparse.ArgumentParser, default: str | None = "handbook") -> None:
    target.add_argument(
        "--data",
        default=default,
        metavar="PATH",
        help="a folder in BEIR's layout, a SQuAD .json, a .csv with question, excerpt and source, or a suite .zip; "
        "labels for the passages that were labelled on the pages (default: "
        f"{'the questions about the handbook' if default else 'that of the suite, or the questions about the handbook'})",
    )


def _add_comparison(target: argparse.ArgumentParser) -> None:
    target.add_argument(
        "--metric", default="nDCG@10", metavar="NAME", help="what is compared (default nDCG@10)"
    )
    target.add_argument(
        "--baseline", default="", metavar="SETTING", help="the setting to compare with (default: the first)"
    )


ACTIONS: Mapping[str, Command] = {
    "run": Command(
        "features.evaluate.commands.evaluate.evaluate_in_terminal",
        "measure every setting of a sweep",
        _add_run,
    ),
    "freeze": Command(
        "features.evaluate.commands.evaluate.freeze_in_terminal",
        "write a data set and the results of one setting into one file, for eval check",
        _add_freeze,
        "Write a suite: the documents as they are now, the questions, and the results of one setting.",
    ),
    "check": Command(
        "features.evaluate.commands.evaluate.check_in_terminal",
        "fail when a setting is worse than kept results say",
        _add_check,
        "Measure one setting now, and fail when it is worse than kept results beyond the paired interval.",
    ),
    "compare": Command(
        "features.evaluate.commands.evaluate.compare_in_terminal",
        "test settings against a baseline",
        _add_compare,
    ),
    "answers": Command(
        "features.evaluate.commands.evaluate_answers.answers_in_terminal",
        "measure answers to questions",
        _add_answers,
        "Answer each question from the context that is ranked for it, by the chat model if one is connected, else by "
        "quotation, and measure the answers.",
    ),
}


def _add_actions(target: argparse.ArgumentParser) -> None:
    add_commands(target, ACTIONS, title="actions", metavar="ACTION", required=True)


COMMANDS: Mapping[str, Command] = {
    "eval": Command("", "measure settings on questions with known answers, and compare them", _add_actions)
}


if TYPE_CHECKING:
    from core.runtime.registry import RunRegistry


def _services(runs: RunRegistry) -> tuple[object, ...]:
    from core.features.evaluate.services.answer_evaluations import AnswerEvaluations
    from core.features.evaluate.services.experiments import Experiments
    from core.features.evaluate.services.question_drafting import QuestionDrafting
    from core.features.evaluate.services.run_comparisons import RunComparisons

    experiments = Experiments(runs.loop, runs.engine, runs.settings.folder, runs.store, runs.labels)
    return (
        experiments,
        AnswerEvaluations(runs.loop, runs.engine, experiments.data, runs.quotas),
        QuestionDrafting(runs.loop, runs.engine, runs.quotas, runs.get, experiments),
        RunComparisons(runs.get, runs.labels),
    )


FEATURE = Feature(
    name="evaluate",
    uses=("library",),
    commands=COMMANDS,
    services=_services,
    page=Page(file="pages/evaluate.py", title="Evaluate"),
)
