"""The arguments of `openquery eval`."""

import argparse
from pathlib import Path

from core.cli.shared_arguments import EXIT_CODES, add_connections, add_scheduler


def add_evaluation(evaluate: argparse.ArgumentParser) -> None:
    """Add the actions of `eval`, each with its arguments."""
    actions = evaluate.add_subparsers(title="actions", metavar="ACTION", required=True)
    run = actions.add_parser("run", help="measure every setting of a sweep", epilog=EXIT_CODES)
    run.set_defaults(command="eval run")
    _add_data(run, "handbook")
    run.add_argument(
        "--knobs",
        type=Path,
        metavar="FILE",
        help='a TOML file such as: [rank] strategy = ["cosine", "bm25", "fused"]. A list holds the values to try '
        "(default: the default settings alone)",
    )
    run.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="keep the results here; what it has already is not run again",
    )
    add_scheduler(run)
    add_connections(run)
    freeze = actions.add_parser(
        "freeze",
        help="write a data set and the results of one setting into one file, for eval check",
        description="Write a suite: the documents as they are now, the questions, and the results of one setting.",
        epilog=EXIT_CODES,
    )
    freeze.set_defaults(command="eval freeze")
    _add_data(freeze, "handbook")
    freeze.add_argument("--knobs", type=Path, metavar="FILE", help=_ONE_SETTING)
    freeze.add_argument("--out", type=Path, required=True, metavar="FILE", help="the suite to write, a .zip")
    add_connections(freeze)
    check = actions.add_parser(
        "check",
        help="fail when a setting is worse than kept results say",
        description="Measure one setting now, and fail when it is worse than kept results beyond the paired interval.",
        epilog=EXIT_CODES,
    )
    check.set_defaults(command="eval check")
    check.add_argument(
        "folder", type=Path, metavar="KEPT", help="a folder of eval run --out, or a suite of eval freeze"
    )
    _add_data(check, None)
    check.add_argument(
        "--knobs", type=Path, metavar="FILE", help=f"{_ONE_SETTING} (default: the kept setting)"
    )
    _add_comparison(check)
    check.add_argument(
        "--tolerance",
        type=float,
        default=0.02,
        metavar="X",
        help="the largest mean loss that passes (default 0.02)",
    )
    check.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report here")
    add_connections(check)
    compare = actions.add_parser("compare", help="test settings against a baseline", epilog=EXIT_CODES)
    compare.set_defaults(command="eval compare")
    compare.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="folders of eval run --out")
    _add_comparison(compare)
    _add_answers(actions.add_parser("answers", help="measure answers to questions", epilog=EXIT_CODES))


def _add_answers(answers: argparse.ArgumentParser) -> None:
    answers.set_defaults(command="eval answers")
    answers.description = (
        "Answer each question from the context that is ranked for it, by the chat model if one is connected, else by "
        "quotation, and measure the answers."
    )
    _add_data(answers, "handbook")
    answers.add_argument(
        "--knobs", type=Path, metavar="FILE", help=f"{_ONE_SETTING} of chunk, rank and answer"
    )
    answers.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="keep the answers here; a question that is answered already is not answered again",
    )
    judge = answers.add_argument_group("the chat model as a judge")
    judge.add_argument("--judge", action="store_true", help="have the sentences of the answers judged")
    judge.add_argument(
        "--judge-labels",
        type=Path,
        metavar="FILE",
        help="a .csv with the columns claim, source and label (entailed, contradicted or not addressed): the judge's "
        "agreement with it is shown with its scores, which are not shown without",
    )
    judge.add_argument(
        "--judge-repeats", type=int, default=3, metavar="N", help="how often each claim is judged (default 3)"
    )
    judge.add_argument("--judge-prompt", action="store_true", help="print the judge's prompt and end")
    add_connections(answers)


_ONE_SETTING = "a TOML file with one value for each knob"


def _add_data(target: argparse.ArgumentParser, default: str | None) -> None:
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
