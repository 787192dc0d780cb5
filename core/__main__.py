"""The command line: `python -m core "question"` answers, `python -m core check` tells what is connected."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from typing import Any

from core.config.schema import Parameter, nested, parameters
from core.errors import OpenQueryError
from core.runtime.event_loop import run_async

STOPPED = 130

SHORT_FLAGS = {
    "plan.queries": "--queries",
    "search.results": "--results",
    "search.backend": "--search",
    "search.origin": "--origin",
    "rank.top_k": "--chunks",
    "chunk.size": "--size",
    "chunk.overlap": "--overlap",
    "rank.strategy": "--strategy",
    "rank.threshold": "--threshold",
}
"""The knobs that are turned most; every other one is `--group-name`."""


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments[:1] == ["ingest"]:
            return _ingest(arguments[1:])
        options = parser().parse_args(arguments)
        if options.question == "check":
            from core.runtime.health import check_in_terminal

            return run_async(check_in_terminal(_settings(options)))
        from core.cli.ask import answer_in_terminal

        work = answer_in_terminal(
            options.question,
            _knobs(options),
            _settings(options),
            verbose=options.verbose,
            as_json=options.json,
        )
        return run_async(_interruptible(work))
    except OpenQueryError as error:
        print(f"openquery: {error}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("openquery: stopped.", file=sys.stderr)
        return STOPPED


def _ingest(arguments: list[str]) -> int:
    from core.cli.ingest import ingest_in_terminal, parser
    from core.config.settings import Settings
    from core.runtime.logs import configure

    options = parser().parse_args(arguments)
    settings = Settings.read()
    configure(settings, level=logging.WARNING)
    return run_async(_interruptible(ingest_in_terminal(options.collection, options.sources, settings)))


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m core",
        description="Answer a question from the web, with citations. `check` instead of a question tells what is connected; "
        "`ingest` adds documents to a collection (see: ingest --help).",
        epilog="Exit codes: 0 answered (or honestly found nothing), 2 bad input, 3 search, 4 read, 5 embed, "
        "6 answer, 7 store, 8 limit, 9 library, 130 stopped.",
    )
    top.add_argument("question", help="what you want to know, or: check, ingest")
    lengths = top.add_mutually_exclusive_group()
    lengths.add_argument(
        "--short", dest="answer.length", action="store_const", const="short", help="one paragraph"
    )
    lengths.add_argument(
        "--long", dest="answer.length", action="store_const", const="long", help="a structured report"
    )
    top.add_argument("--verbose", action="store_true", help="every step on stderr")
    top.add_argument("--json", action="store_true", help="print the whole run as JSON instead of the answer")
    places = top.add_argument_group("connections (else from the environment)")
    places.add_argument("--searxng-url", metavar="URL", help="your SearXNG")
    places.add_argument("--model", metavar="NAME", help="chat model")
    places.add_argument(
        "--embedding-model", metavar="NAME", help="embedding model; local runs inside OpenQuery"
    )
    places.add_argument("--base-url", metavar="URL", help="any OpenAI-compatible server")
    knobs = top.add_argument_group("knobs")
    for parameter in parameters():
        if parameter.path != "answer.length":
            _add_flag(knobs, parameter)
    return top


def _add_flag(group: argparse._ArgumentGroup, knob: Parameter) -> None:
    flag = SHORT_FLAGS.get(knob.path) or f"--{knob.group}-{knob.name.replace('_', '-')}"
    bounds = "" if knob.minimum is None else f", {knob.minimum:g} to {knob.maximum:g}"
    shown = f" (default {knob.default}{bounds})".replace("%", "%%")
    help_text = knob.description.replace("%", "%%") + shown
    if knob.type == "boolean":
        group.add_argument(
            flag, dest=knob.path, action=argparse.BooleanOptionalAction, default=None, help=help_text
        )
    elif knob.type == "array":
        group.add_argument(
            flag, dest=knob.path, action="append", metavar="TEXT", help=f"{knob.description} May be repeated."
        )
    elif knob.enum:
        choices = [value for value in knob.enum if value]
        group.add_argument(flag, dest=knob.path, choices=choices, help=help_text)
    else:
        kinds: dict[str, Any] = {"integer": int, "number": float, "string": str}
        group.add_argument(
            flag,
            dest=knob.path,
            type=kinds[knob.type],
            metavar="N" if knob.minimum is not None else "TEXT",
            help=help_text,
        )


def _knobs(options: argparse.Namespace) -> Any:
    from core.config.knobs import Knobs

    turned = {path: value for path, value in vars(options).items() if "." in path and value is not None}
    return Knobs.parse(nested(turned))


def _settings(options: argparse.Namespace) -> Any:
    from core.config.settings import Settings
    from core.runtime.logs import configure

    named = {
        "searxng_url": options.searxng_url,
        "chat_model": options.model,
        "embedding_model": options.embedding_model,
        "base_url": options.base_url,
    }
    settings = Settings.read(**{name: value for name, value in named.items() if value is not None})
    configure(settings, level=logging.WARNING)
    return settings


async def _interruptible(work: Any) -> int:
    """Run the work; Ctrl-C and a termination signal cancel it, so that connections and workers close."""
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    result: int = await task
    return result


if __name__ == "__main__":
    sys.exit(main())
