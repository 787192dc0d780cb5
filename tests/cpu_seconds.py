"""A pytest plugin that prints the CPU seconds of tests, by folder and by test: `pytest -p tests.cpu_seconds`.

A process that a test starts counts when it has ended, so a shared server counts for the test that ends it.
"""

import resource
from collections import Counter
from collections.abc import Iterator

import pytest

KEY = "cpu_seconds"
DEAREST = 30
"""Tests that are listed."""


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class CpuSeconds:
    """Measures each phase of a test where it runs, and adds the phases where the results arrive."""

    def __init__(self) -> None:
        self._last = cpu_seconds()
        self._tests: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report = yield
        used = cpu_seconds()
        report.user_properties.append((KEY, used - self._last))  # type: ignore[attr-defined]
        self._last = used
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests[report.nodeid] += dict(report.user_properties).get(KEY, 0.0)  # type: ignore[arg-type]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folders: Counter[str] = Counter()
        for test, seconds in self._tests.items():
            file = test.partition("::")[0].split("/")
            folders["/".join(file[:2])] += seconds  # type: ignore[assignment]
        terminalreporter.section(f"CPU seconds of tests: {sum(folders.values()):.0f}")
        for name, seconds in [*folders.most_common(), *self._tests.most_common(DEAREST)]:
            terminalreporter.line(f"{seconds:8.1f}  {name}")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in this process."""
    config.pluginmanager.register(CpuSeconds(), "openquery-cpu-seconds")
