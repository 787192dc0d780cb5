"""Metrics of answers as tiles, and the answers as a table."""

from collections.abc import Sequence

from htpy import Element, b, div, i, span, td, th, tr

from core.features.evaluate.answers.answering import AnsweredQuestion, Outcome
from core.features.evaluate.answers.answers_folder import Answers, PairedDifference
from core.features.evaluate.metrics.metric_help import ANSWERED, EXACT, HELP, REFUSED, TOKEN_F1
from core.features.evaluate.statistics.significance import Interval, p_number
from core.text.display import metric_text
from core.text.sanitize import pluralize
from pages.parts import markup

_WORDS = {
    Outcome.FAILED: ("error", "failed", "bad"),
    Outcome.WRONGLY_ANSWERED: ("close", "not refused", "bad"),
    Outcome.WRONGLY_REFUSED: ("close", "refused", "bad"),
    Outcome.RIGHTLY_REFUSED: ("check", "refused", "good"),
    Outcome.ANSWERED: ("", "answered", ""),
}


def figure(name: str, interval: Interval, count: int, change: PairedDifference | None) -> Element:
    """Return a metric with its interval and difference to the baseline.

    The line of the interval is from 0 to 1.
    """
    part = round(interval.mean * count)
    rest = {ANSWERED: "refused wrongly", REFUSED: "not refused"}.get(name)
    bounds = f"{metric_text(interval.low)}–{metric_text(interval.high)}"
    place = f"--low:{interval.low:.1%};--high:{interval.high:.1%};--dot:{interval.mean:.1%}"
    return div(title=HELP[name])[
        div(".name")[name],
        div[b[metric_text(interval.mean)], span[f" {part:,} of {count:,}" if rest else f" of {count:,}"]],
        div(".line", style=place, role="img", aria_label=f"95 % interval {bounds}")[i, b],
        div(".bounds")[bounds, rest and f"; {count - part:,} {rest}"],
        change is not None and _difference(change),
    ]


def _difference(change: PairedDifference) -> Element:
    interval = change.difference
    bounds = f"{metric_text(interval.low, signed=True)} to {metric_text(interval.high, signed=True)}"
    text = f"{metric_text(interval.mean, signed=True)} [{bounds}]"
    return div(".change", title=f"Paired, {pluralize(change.questions, 'question')}")[
        b[text], span[f" p {p_number(change.p_value)}"]
    ]


def answers_table(shown: Sequence[AnsweredQuestion], answers: Answers, opened: str) -> Element:
    """Return the answers as table rows.

    The first cell of each is a link that opens it. `opened` is the id of the open answer.
    """
    has_judge = answers.judged is not None
    headings = ("question", "exact", "F1", "supported", *(("judged",) if has_judge else ()), "outcome")
    first, *figures, last = headings
    head = (first, *(th(".n", scope="col")[heading] for heading in figures), last)
    rows = (_row(answer, answers, opened) for answer in shown)
    return markup.data_table("Answers, worst first", head, rows, "oq-settings oq-answers")


def _row(answer: AnsweredQuestion, answers: Answers, opened: str) -> Element:
    symbol, words, tone = _WORDS[answer.outcome]
    judged = answers.judged.by_answer.get(answer.id) if answers.judged else None
    supported = sum(sentence.supported for sentence in answer.sentences)
    exact = answer.values.get(EXACT)
    link = markup.pick_link("answer", answer.id, current=answer.id == opened, title=answer.question)
    return tr(class_={"on": answer.id == opened})[
        td(dir="auto")[link[answer.question]],
        td(".n")["" if exact is None else "✓" if exact else "–"],
        td(".n")[metric_text(answer.values[TOKEN_F1]) if TOKEN_F1 in answer.values else ""],
        td(".n")[f"{supported} / {len(answer.sentences)}" if answer.sentences else ""],
        answers.judged is not None and td(".n")["" if judged is None else metric_text(judged)],
        td(class_=tone)[symbol and markup.icon(symbol), words],
    ]
