"""The command line in this process: what a person types, and what comes back."""

import io
import logging
import os
import runpy
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.cli.main import main
from core.config.settings import ROOT

KEPT = ("PATH", "HOME", "LANG")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class Stream(io.TextIOWrapper):
    """What was written, as text; a terminal when `terminal` is true."""

    def __init__(self, encoding: str, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def written(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode(self.encoding)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a command whose data is in `folder`, without what the developer's shell has set."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    own = {
        "OPENQUERY_DATA": str(folder),
        "OPENQUERY_WORKERS": "1",
        "OLLAMA_HOST": "",
        "PYTHONPATH": str(ROOT),
    }
    return {**kept, **own, **more}


def openquery(
    folder: Path,
    *arguments: str,
    terminal: bool = False,
    encoding: str = "utf-8",
    checkout: bool = False,
    **variables: str,
) -> Done:
    """Run a command in this process; `checkout` runs it as `python -m core` does."""
    out, err = Stream(encoding), Stream(encoding, terminal=terminal)
    with _only(environment(folder, **variables)), _own_logs(), redirect_stdout(out), redirect_stderr(err):
        try:
            code = _as_module(arguments) if checkout else main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Done(code, out.written, err.written)


def _as_module(arguments: tuple[str, ...]) -> int:
    with pytest.MonkeyPatch.context() as process:
        process.setattr("sys.argv", ["core", *arguments])
        runpy.run_module("core", run_name="__main__")
    return 0


@contextmanager
def _only(variables: dict[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as process:
        for name in set(os.environ) - set(variables):
            process.delenv(name)
        for name, value in variables.items():
            process.setenv(name, value)
        yield


@contextmanager
def _own_logs() -> Iterator[None]:
    """Take away the log handler of the command, whose stream ends with it."""
    root, loggers = logging.getLogger(), [logging.getLogger(name) for name in ("core", "openquery")]
    handlers, levels = list(root.handlers), [logger.level for logger in loggers]
    try:
        yield
    finally:
        root.handlers[:] = handlers
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
