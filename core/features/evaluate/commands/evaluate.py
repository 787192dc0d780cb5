"""`openquery eval`: measure settings on a data set with judgements, and compare them."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import tomllib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cli.printing import print_note, print_status, print_text, warn_of_unencrypted
from core.cli.shared_arguments import settings_of
from core.config.access import NO_ACCESS
from core.config.clusters import CLUSTER
from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import BadInput
from core.features.evaluate.conclusion import conclude, unfinished_conclusion
from core.features.evaluate.data_sets import suite
from core.features.evaluate.data_sets.available import HANDBOOK_NAME, HANDBOOK_QUESTIONS
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.data_sets.source import Source
from core.features.evaluate.experiment import Result, run_experiment
from core.features.evaluate.experiment_state import SweepProgress
from core.features.evaluate.labels.passage_labels import labelled_passages
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.metrics.trec_run import QRELS, SUFFIX, qrels_lines, run_lines, run_tag
from core.features.evaluate.regression_check import check, junit_xml
from core.features.evaluate.results import Results
from core.features.evaluate.results_folder import FILE, ResultsFolder, read_results
from core.features.evaluate.services.sweep_workers import (
    data_embedder,
    sweep_embedder,
    sweep_reranker,
    sweep_workers,
)
from core.features.evaluate.statistics.significance import p_text
from core.features.evaluate.sweep import SWEPT, knobs_of, name_of, settings
from core.runtime.engine import Engine
from core.storage.atomic_write import atomic_write
from core.storage.label_store import LabelStore
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from core.text.display import duration, embedder_names
from core.text.sanitize import one_line, plural, pluralize

if TYPE_CHECKING:
    from core.adapters.cache.embedding_cache import CachedEmbed

LABELS = "labels"
"""The data path of passages labelled on the pages."""
_LONGEST_SETTING = 1_000
_STATUS_SECONDS = 0.5
_WORST = 5
"""The number of questions with the largest losses to name."""
_SWEEP_LIMIT = 1_000_000
SHOWN = ("nDCG@10", "recall@10", "MRR@10", "excerpt recall")
"""The metrics of the line of a setting."""


async def evaluate_in_terminal(options: argparse.Namespace) -> int:
    """Run an experiment, print a line per setting, and return the exit code.

    It runs on this machine, or with a `scheduler` on the workers of a Dask cluster.

    Raises:
        BadInput: when the data set, the sweep or the folder cannot be used, or Dask is not installed.
        EmbedFailed: when passages cannot be embedded.
        WorkersFailed: when the cluster cannot be used, or workers end again and again.
    """
    connections, scheduler = settings_of(options), options.scheduler
    data = named_data_set(options.data, connections)
    tried = settings(_sweep(options.knobs))
    warn_of_unencrypted(scheduler)
    with tempfile.TemporaryDirectory() as temporary:
        out = options.out or Path(temporary)
        return await _measure(data, tried, out, connections, scheduler=scheduler, trec=options.trec)


async def freeze_in_terminal(options: argparse.Namespace) -> int:
    """Write a data set and the results of one setting into one file. Returns the exit code.

    Raises:
        BadInput: when the data set or the file cannot be used, or the knobs are several settings.
        EmbedFailed: when passages cannot be embedded.
    """
    out, connections = options.out, settings_of(options)
    if out.suffix.lower() != suite.SUITE:
        raise BadInput(f"{out} is no name of a suite.", hint=f"Choose one that ends in {suite.SUITE}.")
    data, tried = named_data_set(options.data, connections), (one_setting(options.knobs),)
    with tempfile.TemporaryDirectory() as temporary:
        code = await _measure(data, tried, Path(temporary), connections)
        await asyncio.to_thread(suite.save, out, data, (Path(temporary) / FILE).read_text("utf-8"))
    print_note(f"{out}: {pluralize(len(data.questions), 'question')}")
    return code


def compare_in_terminal(options: argparse.Namespace) -> int:
    """Print every setting against the baseline.

    The default baseline is the first setting.

    Raises:
        BadInput: when the folders cannot be compared.
    """
    results, metric = read_results(*options.folders), options.metric
    if not results.results:
        raise BadInput("There are no results yet.", hint="Run openquery eval run first.")
    baseline = options.baseline or results.results[0].setting
    compared = results.compare(baseline, metric)
    print_text(
        f"{with_unit(metric)} on {one_line(results.data)}; baseline: {one_line(baseline, _LONGEST_SETTING)}"
    )
    unfinished = unfinished_conclusion(results, baseline)
    for test in compared:
        interval = f"[{test.difference.low:+.3f}, {test.difference.high:+.3f}]"
        if unfinished:  # a p-value that is read after each setting is not a p-value
            print_text(
                f"{test.difference.mean:+.3f} {interval}  {test.baseline:.3f} -> {test.mean:.3f}  "
                f"{one_line(test.setting, _LONGEST_SETTING)}"
            )
            continue
        print_text(
            f"{test.mean - test.baseline:+.3f}  {test.baseline:.3f} -> {test.mean:.3f}  {p_text(test.p_value)}  "
            f"{test.wins} won, {test.losses} lost of {test.questions}  {test.verdict}: {one_line(test.setting, _LONGEST_SETTING)}"
        )
    for change in results.changes(baseline, compared[-1].setting, metric)[:_WORST]:
        if change.after < change.before:
            print_text(
                f"    {change.before:.3f} -> {change.after:.3f}  {one_line(results.questions[change.question])}"
            )
    conclusion = unfinished or conclude(results, metric, baseline)
    print_text(one_line(str(conclusion), _LONGEST_SETTING))
    _note_failures(results, metric)
    lost = "The questions are those that lost most under the last setting."
    if unfinished:
        print_note(f"Brackets are 95 % intervals. {lost} Measure the rest with openquery eval run --out.")
        return 0
    if results.planned is None:
        print_note(
            "A file of an earlier version does not say how many settings there are: some may be missing."
        )
    print_note(
        f"p: paired randomization test, two-sided, Holm's correction for {pluralize(len(compared), 'comparison')}. "
        f"{lost}"
    )
    return 0


async def check_in_terminal(options: argparse.Namespace) -> int:
    """Compare one setting's new results with stored results, and return the exit code.

    Prints a line for each question. The default data set is that of the suite. The default baseline is the first stored
    setting. Without `knobs` the baseline's setting is measured again.

    Raises:
        BadInput: when a file cannot be used, or the knobs are several settings.
        EmbedFailed: when passages cannot be embedded.
    """
    folder, metric, connections = options.folder, options.metric, settings_of(options)
    earlier = read_results(folder)
    if not earlier.results:
        raise BadInput(f"{folder} has no results.", hint="Run openquery eval run --out first.")
    before = earlier.setting(options.baseline or earlier.results[0].setting)
    own = str(folder) if folder.suffix.lower() == suite.SUITE else HANDBOOK_NAME
    data = named_data_set(options.data or own, connections)
    tried = (one_setting(options.knobs) if options.knobs else knobs_of(before.setting),)
    async with Engine(connections) as engine:
        rerank = sweep_reranker(engine, tried, data)
        embed = await _embedder(engine, data)
        if embed.identity != earlier.embedder:
            theirs, ours = embedder_names(one_line(earlier.embedder), embed.identity)
            print_note(f"Warning: the kept results are of {theirs}, these of {ours}.")
        async with sweep_workers(data, tried, count=connections.workers) as workers:
            results = run_experiment(data, tried, embed, workers, rerank=rerank)
            (after,) = [result async for result in results]
    checked = check(before, after, metric, earlier.questions, tolerance=options.tolerance)
    for question in checked.questions:
        sign = "-" if question.after < question.before else "+" if question.after > question.before else "="
        print_text(f"{sign} {question.before:.3f} -> {question.after:.3f}  {one_line(question.text)}")
    for text, why in checked.missing.items():
        print_text(f"! {one_line(text)}: {one_line(why)}")
    if options.junit:
        await asyncio.to_thread(options.junit.write_bytes, junit_xml(checked, earlier.data))
    print_text(
        f"{with_unit(metric)}: {checked.verdict} over {pluralize(len(checked.questions), 'question')}, {after.setting} against "
        f"{one_line(before.setting)}: "
        f"{'passed' if checked.passed else 'failed'}"
    )
    return int(not checked.passed)


def named_data_set(path: str, connections: Settings) -> DataSet:
    """Return the data set at a path, or the handbook's questions or labelled passages by name.

    Raises:
        BadInput: when it cannot be used.
    """
    if path == HANDBOOK_NAME:
        return load_data_set(HANDBOOK_QUESTIONS, HANDBOOK_NAME)
    if path == LABELS:
        with closing(RunStore(connections.folder / RUNS)) as store:
            return labelled_passages(store, LabelStore(store))
    return load_data_set(Path(path))


def one_setting(knobs: Path | None, groups: Collection[str] = SWEPT) -> Knobs:
    """Return the setting of a TOML file with knobs of these groups.

    The default is the default setting.

    Raises:
        BadInput: when the file cannot be used or has several settings.
    """
    tried = settings(_sweep(knobs), groups)
    if len(tried) != 1:
        raise BadInput(f"{knobs} has {pluralize(len(tried), 'setting')}.", hint="Give each knob one value.")
    return tried[0]


async def _measure(
    data: DataSet,
    tried: Sequence[Knobs],
    out: Path,
    connections: Settings,
    *,
    scheduler: str = "",
    trec: Path | None = None,
) -> int:
    """Run or continue the experiment of a folder, and return the exit code. Prints a line for each setting.

    The judgements, and the rankings of what is measured now, are written into the folder `trec`, if there is one.
    """

    def write_run(setting: str, rankings: Mapping[str, Sequence[str]]) -> None:
        if trec:
            tag = run_tag(setting)
            atomic_write(trec / f"{tag}{SUFFIX}", run_lines(rankings, tag).encode())

    if trec:
        atomic_write(trec / QRELS, qrels_lines(data.questions).encode())
    async with Engine(connections) as engine:
        rerank = sweep_reranker(engine, tried, data)
        _describe(data, tried)
        async with sweep_workers(data, tried, scheduler, count=connections.workers) as workers:
            engine.egress.require(CLUSTER, workers.host, data.origins)
            embed = sweep_embedder(await _embedder(engine, data), engine, workers)
            with closing(
                ResultsFolder(out, data, embed.identity, [name_of(knobs) for knobs in tried])
            ) as folder:
                earlier = folder.results
                for result in earlier.results:
                    print_text(_line(earlier, result))
                progress = SweepProgress()
                results = run_experiment(
                    data,
                    tried,
                    embed,
                    workers,
                    rerank=rerank,
                    done=earlier.by_setting,
                    progress=progress,
                    on_rankings=write_run,
                )
                async with aclosing(results), _status(progress):
                    async for result in results:
                        folder.add(result)
                        print_status()
                        print_text(_line(earlier, result))
                measured = folder.results.results
    failed = {name for result in measured for name in result.failed}
    print_failed(len(failed))
    return int(bool(failed))


@asynccontextmanager
async def _status(progress: SweepProgress) -> AsyncIterator[None]:
    """Show on a terminal how far a sweep is, since nothing else is printed before the first setting is measured."""

    async def show() -> None:
        while True:
            embedded = f"{pluralize(progress.texts, 'text')} embedded"
            ranked = f"{progress.questions:,} of {pluralize(progress.total, 'ranking')}"
            left = f", about {duration(seconds)} left" if (seconds := progress.seconds_left) else ""
            print_status(progress.waiting or f"{progress.phase}: {embedded}, {ranked}{left}")
            await asyncio.sleep(_STATUS_SECONDS)

    showing = asyncio.create_task(show())
    try:
        yield
    finally:
        showing.cancel()
        print_status()


def _note_failures(results: Results, metric: str) -> None:
    """Report on stderr the settings without a figure, and the number of failed questions."""
    compared = results.with_metric(metric).by_setting
    failed = [one_line(result.setting) for result in results.results if result.setting not in compared]
    if failed:
        verb = plural(len(failed), "has", "have")
        print_note(
            f"{pluralize(len(failed), 'setting')} {verb} no {metric} and {plural(len(failed), 'is', 'are')} not compared: "
            f"{'; '.join(failed[:10])}"
        )
    print_failed(len({name for result in results.results for name in result.failed}))


def print_failed(count: int) -> None:
    """Report on stderr how many questions failed."""
    if count:
        print_note(f"{pluralize(count, 'question')} failed and {plural(count, 'is', 'are')} in no mean.")


async def _embedder(engine: Engine, data: DataSet) -> CachedEmbed:
    """Return the embedder of the data set. A note on stderr explains a change of the chosen embedder."""
    _, note = await engine.models.embedding_model(NO_ACCESS, data.origins)
    if note:
        print_note(note)
    return await data_embedder(engine, data)


def _describe(data: DataSet, tried: Sequence[Knobs]) -> None:
    answerable = sum(question.answerable for question in data.questions)
    unanswerable = len(data.questions) - answerable
    print_note(
        f"{one_line(data.name)}: {pluralize(answerable, 'question')} with an answer, {unanswerable:,} without, which are not measured; "
        f"{pluralize(len(tried), 'setting')}. Ranks are of documents. Brackets are 95 % intervals over questions."
    )
    for warning in data.warnings:
        print_note(f"Warning: {one_line(warning, 500)}")


def _sweep(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        with Source(path, limit=_SWEEP_LIMIT).open() as file:
            return tomllib.loads(file.read().decode())
    except FileNotFoundError as error:
        raise BadInput(f"There is no file {path}.", hint="Check its path.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(
            f"{path} cannot be read as TOML: {error}.",
            hint='An example: [rank] strategy = ["cosine", "bm25"].',
        ) from error


def _line(results: Results, result: Result) -> str:
    figures = [
        f"{metric} {interval}"
        for metric in SHOWN
        if (interval := results.interval(result, metric)) is not None
    ]
    failed = f"  {len(result.failed)} failed" if result.failed else ""
    return f"{one_line(result.setting, _LONGEST_SETTING)}\n    {'  '.join(figures)}  {pluralize(result.passages, 'passage')}  {result.seconds:.1f} s{failed}"
