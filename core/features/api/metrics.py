"""Prometheus metrics: phase durations, run outcomes, failures, tokens, the process and its version."""

import platform

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from core.config.version import __version__
from core.run import events as e
from core.run.events import Record
from core.run.state import Run, RunStatus
from core.run.transitions import usage_of

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Metrics:
    """An observer of all runs. Any thread may call."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(
            registry=self.registry
        )  # process_cpu_seconds_total, process_resident_memory_bytes, ...
        build = Info("openquery_build", "Version of the server and its Python.", registry=self.registry)
        build.info({"version": __version__, "python": platform.python_version()})
        self.phases = Histogram(
            "openquery_phase_seconds",
            "Seconds of each phase of a run.",
            ["phase"],
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.runs = Counter("openquery_runs", "Runs by how they ended.", ["status"], registry=self.registry)
        self.failures = Counter(
            "openquery_failures", "Failures by part and reason.", ["part", "reason"], registry=self.registry
        )
        self.tokens = Counter(
            "openquery_tokens",
            "Tokens of model servers, by the phase that used them.",
            ["phase", "kind"],
            registry=self.registry,
        )

    def observe(self, record: Record | None, run: Run) -> None:
        """Count an event; the end of work on a run when `record` is None."""
        if record is None:
            self.runs.labels(run.status.value).inc()
            if run.status is RunStatus.FAILED and run.error:
                self.failures.labels(run.error.part, "run failed").inc()
            return
        match record.event:
            case e.PhaseEnded(phase=phase) if phase in run.timeline.phases:
                self.phases.labels(phase.value).observe(run.timeline.phases[phase].seconds(record.at))
            case e.PageSkipped(skip=skip):
                self.failures.labels("read", skip.reason.value).inc()
            case e.QueryFailed():
                self.failures.labels("search", "query failed").inc()
            case e.BatchFailed():
                self.failures.labels("embed", "batch failed").inc()
            case e.RunStarted() as start:
                for used in usage_of(start):
                    self._count_tokens(used)
            case e.ModelUsed() as used:
                self._count_tokens(used)
            case _:
                pass

    def _count_tokens(self, used: e.ModelUsed) -> None:
        if not used.usage.local:
            self.tokens.labels(used.phase.value, "prompt").inc(used.usage.tokens.prompt_tokens)
            self.tokens.labels(used.phase.value, "completion").inc(used.usage.tokens.completion_tokens)

    def text(self) -> bytes:
        """The text exposition format, version 0.0.4."""
        return generate_latest(self.registry)
