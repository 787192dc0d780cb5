"""The arguments of the command line. `command` says which command they are for."""

import argparse
from pathlib import Path
from typing import Any

from core import __version__
from core.config.schema import Parameter, parameters

EXIT_CODES = (
    "Exit codes: 0 success (also when the sources hold no answer), 1 a check failed, 2 bad input, 3 search, 4 read, "
    "5 embed, 6 answer, 7 store, 8 limit, 9 library, 10 workers, 130 interrupted, 141 the output was closed."
)

FLAGS = {
    "run.method": ("--method",),
    "run.max_steps": ("--max-steps",),
    "run.token_budget": ("--token-budget",),
    "run.time_budget": ("--time-budget",),
    "run.dollar_budget": ("--dollar-budget",),
    "plan.queries": ("-q", "--queries"),
    "search.results": ("-r", "--results"),
    "search.backend": ("--search",),
    "search.origin": ("--origin",),
    "rank.top_k": ("-c", "--chunks"),
    "chunk.size": ("--size",),
    "chunk.overlap": ("--overlap",),
    "rank.strategy": ("--strategy",),
    "rank.threshold": ("--threshold",),
}
"""Flags of the knobs that are used most; every other knob has `--group-name`."""


def flags_of(path: str) -> tuple[str, ...]:
    """The flags of a knob such as `rank.top_k`, the long one last."""
    return FLAGS.get(path) or (f"--{path.replace('.', '-').replace('_', '-')}",)


def parser(program: str = "openquery") -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog=program,
        description="Answer questions from the web or from your documents, with citations. Without arguments, the pages "
        "are served; a question alone is asked.",
        epilog=EXIT_CODES,
    )
    top.add_argument("--version", action="version", version=f"openquery {__version__}")
    top.set_defaults(command="page", program=program)
    _add_address(top, "8501, or the next free port")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")

    ask = commands.add_parser("ask", help="answer a question", epilog=EXIT_CODES)
    ask.set_defaults(command="ask")
    _add_ask_arguments(ask)

    check = commands.add_parser("check", help="report which connections and parts work", epilog=EXIT_CODES)
    check.set_defaults(command="check")
    _add_connections(check)

    ingest = commands.add_parser(
        "ingest",
        help="add documents to a collection",
        description="Add documents to a collection: PDF, HTML, Markdown, text, DOCX, ODT, PPTX, XLSX, EPUB, CSV, or a "
        "zip of them. A document that the collection already has is neither read nor embedded again.",
        epilog="Output: one line a document: + added, = already there, ! failed, with the reason. Exit codes: 0 all are "
        "in the collection, 4 some failed, 9 the ingest was interrupted; the same command resumes it.",
    )
    ingest.set_defaults(command="ingest")
    ingest.add_argument("collection", help="its name; the collection is created if it does not exist")
    ingest.add_argument(
        "sources", nargs="+", help="files, folders, web addresses or sitemaps (…/sitemap.xml)"
    )

    _add_evaluation(
        commands.add_parser(
            "eval",
            help="measure settings on questions with known answers, and compare them",
            epilog=EXIT_CODES,
        )
    )

    serve = commands.add_parser("serve", help="serve the HTTP API alone, without the pages")
    serve.set_defaults(command="serve")
    _add_address(serve, "8000")
    return top


def _add_evaluation(evaluate: argparse.ArgumentParser) -> None:
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
    run.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, such as tls://10.0.0.1:8786 (default: this machine's cores). "
        "It is trusted with everything on this machine: what it sends can run any code. tcp:// is neither encrypted "
        "nor authenticated",
    )
    _add_connections(run)
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
    _add_connections(freeze)
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
    _add_connections(check)
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
    _add_connections(answers)


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


def _add_address(target: argparse.ArgumentParser, default_port: str) -> None:
    target.add_argument("--host", metavar="ADDRESS", help="address to listen on (default 127.0.0.1)")
    target.add_argument("--port", type=int, metavar="N", help=f"port to listen on (default {default_port})")


def _add_ask_arguments(ask: argparse.ArgumentParser) -> None:
    ask.add_argument("question", help="up to 1,000 characters")
    lengths = ask.add_mutually_exclusive_group()
    for flags, length, described in (
        (("-s", "--short"), "short", "one paragraph"),
        (("-l", "--long"), "long", "a structured report"),
    ):
        lengths.add_argument(*flags, dest="answer.length", action="store_const", const=length, help=described)
    ask.add_argument("-v", "--verbose", action="store_true", help="every step on stderr, one a line")
    ask.add_argument(
        "--query",
        dest="given_queries",
        action="append",
        default=[],
        metavar="TEXT",
        help="search for this, in place of queries that the chat model writes; may be repeated",
    )
    outputs = ask.add_mutually_exclusive_group()
    for flag, output, described in (
        (
            "--context",
            "context",
            "print the sources that were found, as context for another program, and no answer",
        ),
        ("--json", "run", "print the whole run as JSON instead of the answer"),
    ):
        outputs.add_argument(
            flag, dest="output", action="store_const", const=output, default="answer", help=described
        )
    _add_connections(ask)
    knobs = ask.add_argument_group("knobs")
    for parameter in parameters():
        if parameter.path != "answer.length":
            _add_knob(knobs, parameter)


def _add_connections(target: argparse.ArgumentParser) -> None:
    group = target.add_argument_group("connections (default: the environment's)")
    group.add_argument("--searxng-url", metavar="URL", help="a SearXNG server")
    group.add_argument("--model", dest="chat_model", metavar="NAME", help="chat model")
    group.add_argument(
        "--embedding-model", metavar="NAME", help="embedding model; local runs inside OpenQuery"
    )
    group.add_argument("--base-url", metavar="URL", help="any OpenAI-compatible server")


def _add_knob(group: argparse._ArgumentGroup, knob: Parameter) -> None:
    flags = flags_of(knob.path)
    bounds = "" if knob.minimum is None else f", {knob.minimum:g} to {knob.maximum:g}"
    default_and_bounds = f" (default {knob.default}{bounds})".replace("%", "%%")
    help_text = knob.description.replace("%", "%%") + default_and_bounds
    if knob.type == "boolean":
        group.add_argument(
            *flags, dest=knob.path, action=argparse.BooleanOptionalAction, default=None, help=help_text
        )
    elif knob.type == "array":
        group.add_argument(
            *flags,
            dest=knob.path,
            action="append",
            metavar="TEXT",
            help=f"{knob.description} May be repeated.",
        )
    elif knob.enum:
        choices = [value for value in knob.enum if value]
        group.add_argument(*flags, dest=knob.path, choices=choices, help=help_text)
    else:
        types: dict[str, Any] = {"integer": int, "number": float, "string": str}
        group.add_argument(
            *flags,
            dest=knob.path,
            type=types[knob.type],
            metavar="N" if knob.minimum is not None else "TEXT",
            help=help_text,
        )
