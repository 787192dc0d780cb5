"""`openquery eval answers`: answer the questions of a data set, and measure the answers."""

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from core.analysis.answers.llm_judge import Judge, example_prompt
from core.cli.printing import print_note, print_text
from core.cli.shared_arguments import settings_of
from core.config.knobs import Knobs
from core.errors import BadInput
from core.features.evaluate.answers.answering import CHANGED, METRICS, AnsweredQuestion, answer_questions
from core.features.evaluate.answers.answers_folder import Answers, AnswersFolder
from core.features.evaluate.answers.judged_answers import Agreement, JudgedAnswers, LabelledClaim, read_labels
from core.features.evaluate.commands.evaluate import named_data_set, one_setting, print_failed
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.metrics.metric_help import ENTAILED, KAPPA
from core.features.evaluate.services.answer_evaluations import MOST_REPEATS, answering_ports, answers_folder
from core.features.evaluate.sweep import name_of
from core.ports import Ports
from core.runtime.engine import Engine
from core.text.sanitize import one_line, plural, pluralize

NO_LABELS = (
    "The judge was not asked: its scores are shown only with its agreement with people. Give claims that people have "
    "labelled, in a .csv with the columns claim, source and label (entailed, contradicted or not addressed), with "
    "--judge-labels FILE."
)
SIMILARITY = (
    "Citation recall and precision are estimates: a source supports a sentence that is similar to one of its own and "
    "has no other numbers. A quotation supports itself."
)


async def answers_in_terminal(options: argparse.Namespace) -> int:
    """Answer questions, measure the answers, and return the exit code.

    Prints a line for each question, and the means at the end. With `judge_prompt` only the judge's prompt is printed.

    Raises:
        BadInput: when the data set, the knobs, the folder or the labels cannot be used, or there is no judge.
        EmbedFailed: when the documents cannot be embedded.
        ChatFailed: when the judge does not answer about the labelled claims.
    """
    if options.judge_prompt:
        print_text(example_prompt())
        return 0
    connections = settings_of(options)
    data, setting = named_data_set(options.data, connections), one_setting(options.knobs, CHANGED)
    labelled = _checked_labels(options) if options.judge else ()
    with tempfile.TemporaryDirectory() as temporary:
        async with Engine(connections) as engine:
            ports = await answering_ports(engine, setting, data)
            if options.judge and ports.chat is None:
                raise BadInput(
                    "There is no chat model to judge.", hint="Connect one, as docs/usage.md tells."
                )
            if ports.egress_note:
                print_note(ports.egress_note)
            folder = answers_folder(options.out or Path(temporary), data, setting, ports)
            await _answer_all(data, setting, ports, folder)
            answers = folder.answers
            _print_means(answers)
            judged = None
            if labelled and ports.chat:
                judge = Judge(ports.chat, options.judge_repeats, engine.cache)
                judged = await _judge(judge, labelled, folder)
            elif options.judge:
                print_note(NO_LABELS)
    failed = len(answers.answers) - len(answers.answered)
    print_failed(failed)
    return int(bool(failed or (judged and judged.failed)))


def _checked_labels(options: argparse.Namespace) -> tuple[LabelledClaim, ...]:
    if not 1 <= options.judge_repeats <= MOST_REPEATS:
        raise BadInput(f"A claim can be judged 1 to {MOST_REPEATS} times.", hint="Change --judge-repeats.")
    return read_labels(options.judge_labels) if options.judge_labels else ()


async def _answer_all(data: DataSet, setting: Knobs, ports: Ports, folder: AnswersFolder) -> None:
    earlier = {answer.id for answer in folder.answers.answered}
    answerable = sum(question.answerable for question in data.questions)
    print_note(
        f"{one_line(data.name)}: {pluralize(answerable, 'question')} with an answer, {len(data.questions) - answerable:,} without, "
        f"{len(earlier):,} of them answered already; {ports.chat.identity if ports.chat else 'extractive answers'}, "
        f"{name_of(setting)}. Brackets are 95 % intervals over questions."
    )
    answered = answer_questions(data, setting, ports, done=earlier)
    async with aclosing(answered):
        number = len(earlier)
        async for answer in answered:
            folder.add(answer)
            number += 1
            print_text(f"[{number}/{len(data.questions)}] {_line(answer)}")


def _line(answer: AnsweredQuestion) -> str:
    text = one_line(answer.question)
    if answer.failed:
        return f"failed: {one_line(answer.failed)}  {text}"
    labels = {
        "exact match": "exact match",
        "token F1": "F1",
        "citation recall": "citation recall",
        "citation precision": "precision",
    }
    figures = [
        f"{name} {answer.values[metric]:.2f}" for metric, name in labels.items() if metric in answer.values
    ]
    return "  ".join(["refused" if answer.refused else "answered", *figures, text])


def _print_means(answers: Answers) -> None:
    intervals = answers.intervals
    for name, note in METRICS.items():
        if name in intervals:
            interval, count = intervals[name]
            print_text(f"{name:<20}{interval}  {pluralize(count, 'question')}: {note}")
    if tokens := sum(answer.tokens for answer in answers.answers):
        costs = [answer.cost for answer in answers.answers if answer.cost is not None]
        print_text(pluralize(tokens, "token") + (f", {sum(costs):.4f} USD" if costs else ""))
    print_note(SIMILARITY)


async def _judge(
    judge: Judge, labelled: Sequence[LabelledClaim], folder: AnswersFolder
) -> JudgedAnswers | None:
    print_note(f"{judge.identity} judges {pluralize(len(labelled), 'labelled claim')} and the answers.")
    await folder.judge(judge, labelled)
    judged = folder.answers.judged
    if judged is None:
        return None
    if judged.scores:
        print_text(_judged_line(judged))
    if judged.header.agreement:
        print_text(_agreement_line(judge, judged.header.agreement))
    for why in dict.fromkeys(judged.failed):
        count = judged.failed.count(why)
        print_note(f"{pluralize(count, 'answer')} {plural(count, 'was', 'were')} not judged: {one_line(why)}")
    return judged


def _judged_line(judged: JudgedAnswers) -> str:
    low, high = min(judged.repetitions), max(judged.repetitions)
    return (
        f"{ENTAILED:<20}{judged.scores}  {pluralize(len(judged.by_answer), 'answer')}: the share of their sentences; "
        f"{low:.3f} to {high:.3f} by single repetitions, standard deviation {judged.deviation:.3f}; "
        f"{pluralize(judged.unclear, 'sentence')} without a clear verdict"
    )


def _agreement_line(judge: Judge, agreed: Agreement) -> str:
    return (
        f"{KAPPA:<20}{agreed.kappa}  {pluralize(agreed.claims, 'labelled claim')}: agreement with people beyond chance; "
        f"{agreed.stable:,} the same in {'all ' if judge.repeats > 1 else ''}{pluralize(judge.repeats, 'repetition')}, {agreed.unclear:,} without a clear verdict"
    )
