"""One evaluated answer with its reference, sources and the judge's verdicts."""

from collections.abc import Sequence
from functools import partial

import streamlit as st
from htpy import Element, Node, a, b, blockquote, div, h2, li, mark, ol, p, pre, span

from core.analysis.answers.llm_judge import Entailment, example_prompt
from core.features.evaluate.answers.answering import AnsweredQuestion, CitedSource, Outcome
from core.features.evaluate.answers.judged_answers import JudgedAnswer, JudgedAnswers
from core.features.evaluate.metrics.answer_metrics import contains_reference
from core.features.evaluate.metrics.metric_help import ENTAILED, HELP, KAPPA, STABLE
from core.features.evaluate.statistics.significance import Interval
from core.model import Article, Page, Place
from core.text.display import metric_text
from core.text.markdown.safe_markdown import safe_markdown
from core.text.sanitize import one_line, pluralize
from core.text.text_length import text_length
from pages.parts import browser, markup
from pages.parts.passage_reader import reader

CITED = "answers_cited"
"""Session key of the source whose citation was clicked."""
AROUND = 160
"""Characters of a source around the supporting sentence."""


def pick(name: str) -> None:
    """Open the answer that was clicked, without a source."""
    st.session_state.pop(CITED, None)
    st.query_params["answer"] = name


def answer(shown: Sequence[AnsweredQuestion], opened: AnsweredQuestion, judged: JudgedAnswers | None) -> None:
    """Draw the answer with reference, sources, sentences and judge.

    Links lead to its neighbours in `shown`.
    """
    place = shown.index(opened)
    beside = (("Worse", "arrow_upward", place - 1), ("Better", "arrow_downward", place + 1))
    links = [
        markup.pick_link("answer", shown[other].id, title=f"{word} answer", aria_label=f"{word} answer")[
            markup.icon(symbol)
        ]
        for word, symbol, other in beside
        if 0 <= other < len(shown)
    ]
    verdicts = {each.id: each for each in judged.answers} if judged else {}
    cited: int | None = st.session_state.get(CITED)
    with st.container(border=True, key="answer_reader"):
        markup.show(
            div(".oq-asked")[h2(dir="auto")[opened.question], span(".beside")[links]], _outcome(opened)
        )
        left, right = st.columns([1.4, 1], gap="medium")
        with left:
            note = f"{text_length(opened.answer)}, {markup.duration(opened.seconds)}"
            markup.show(markup.section_heading("Answer", note))
            with st.container(key="answer_body"):
                numbers = range(1, len(opened.sources) + 1)
                st.markdown(safe_markdown(opened.answer, numbers) or "No answer.", anchors=False)
        with right:
            markup.show(markup.section_heading("Reference", _where(opened)))
            markup.show(
                [blockquote(".oq-reference", dir="auto")[text] for text in opened.references[:5]]
                or p(".oq-reading")["The data set has none: the question should be refused."]
            )
        if opened.sentences:
            markup.show(
                markup.section_heading("Sentences", "whether their cited sources support them"),
                _sentences(opened, verdicts.get(opened.id)),
            )
        _sources(opened, cited)
        if cited and cited <= len(opened.sources):
            _source(opened, cited)
        if judged:
            _judge(judged, verdicts.get(opened.id))
    browser.citation_clicks(cited, partial(st.session_state.__setitem__, CITED))


def _where(opened: AnsweredQuestion) -> str:
    """Return which sources contain the reference word for word.

    This shows whether the ranking or the answer lost it.
    """
    places = [
        str(number)
        for number, text in enumerate(opened.sources, 1)
        if contains_reference(text, opened.references)
    ]
    if not opened.references or not opened.sources:
        return "from the data set"
    return f"in source {', '.join(places)}" if places else "in none of the sources, word for word"


def _outcome(opened: AnsweredQuestion) -> Node:
    if opened.outcome is Outcome.ANSWERED:
        return None
    tone = "good" if opened.outcome is Outcome.RIGHTLY_REFUSED else "bad"
    words = f"{opened.outcome}: {one_line(opened.failed, 300)}" if opened.failed else str(opened.outcome)
    return p(class_=["oq-outcome", tone])[markup.icon("check" if tone == "good" else "close"), words]


def _sentences(opened: AnsweredQuestion, verdicts: JudgedAnswer | None) -> Element:
    """Return each sentence with its support and the judge's verdicts."""
    of_judge = dict(enumerate(verdicts.verdicts)) if verdicts else {}
    return ol(".oq-sentences")[
        (
            li(class_="good" if sentence.supported else "bad")[
                markup.status_icon(
                    "check" if sentence.supported else "close",
                    "supported" if sentence.supported else "not supported",
                    "sign",
                ),
                span(dir="auto")[sentence.text],
                not sentence.cited and span(".oq-tag")["cites no source"],
                place in of_judge and span(".oq-tag")[_verdict_words(of_judge[place])],
            ]
            for place, sentence in enumerate(opened.sentences)
        )
    ]


def _verdict_words(verdicts: tuple[Entailment, ...]) -> str:
    """Return the judge's most frequent verdict and its count."""
    most = max(verdicts, key=verdicts.count)
    return f"judge: {most}, {verdicts.count(most)} of {len(verdicts)}"


def _sources(opened: AnsweredQuestion, cited: int | None) -> None:
    """Draw a card per cited source, then the titles of the others.

    The sentence most similar to the answer is marked.
    """
    uses: dict[int, list[CitedSource]] = {}
    for sentence in opened.sentences:
        for use in sentence.cited:
            uses.setdefault(use.number, []).append(use)
    hold = sum(use.supports for some in uses.values() for use in some)
    total = sum(map(len, uses.values()))
    if not opened.sources:
        return
    markup.show(
        markup.section_heading(
            "Sources", f"{hold} of {pluralize(total, 'citation')} hold" if total else "none is cited"
        ),
        div(".oq-sources", role="group", aria_label="Sources")[
            (
                _card(opened, number, uses.get(number, []), on=number == cited)
                for number in sorted(range(1, len(opened.sources) + 1), key=lambda number: number not in uses)
            )
        ],
    )


def _card(opened: AnsweredQuestion, number: int, uses: list[CitedSource], *, on: bool) -> Element:
    text = opened.sources[number - 1]
    use = max(uses, key=lambda use: use.supports, default=None)
    title = opened.titles[number - 1] if opened.titles else opened.documents[number - 1]
    holds = use is not None and all(use.supports for use in uses)
    word = "not cited" if use is None else "holds" if holds else "does not hold"
    return div(".oq-source-page", style="--cards:1")[
        div(".head")[
            b(dir="auto", title=title)[title],
            span(class_=["oq-tag", {"good": holds, "bad": use is not None and not holds}])[word],
        ],
        div(".cards")[
            a(
                class_=["oq-source", {"used": use is not None, "on": on}],
                id=f"src-{number}",
                href=f"#src-{number}",
                title="Show the source",
            )[span(".n")[number], span(".b")[span(".s", dir="auto")[_excerpt(text, use)]]]
        ],
    ]


def _excerpt(text: str, use: CitedSource | None) -> Node:
    if use is None or not use.supports:
        return one_line(text, 2 * AROUND)
    before, after = text[max(use.start - AROUND // 4, 0) : use.start], text[use.end : use.end + AROUND]
    return ["… " if use.start > AROUND // 4 else "", before, mark[text[use.start : use.end]], after]


def _source(opened: AnsweredQuestion, number: int) -> None:
    """Draw a source's whole text. The sentence most similar to a sentence of the answer is marked."""
    text, document = opened.sources[number - 1], opened.documents[number - 1]
    uses = [use for sentence in opened.sentences for use in sentence.cited if use.number == number]
    use = max(uses, key=lambda use: use.supports, default=None)
    title = opened.titles[number - 1] if opened.titles else document
    place = Place(page=document, start=use.start, end=use.end) if use else None
    reader(
        Page(key=document, url=document, title=title, article=Article(text=text, extractor="")),
        place or Place(page=document, start=0, end=len(text)),
        label=f"Source {number}",
        key="reader_answer_source",
        opened=CITED,
    )


def _judge(judged: JudgedAnswers, verdict: JudgedAnswer | None) -> None:
    """Draw the judge's score of this answer and its reliability."""
    header = judged.header
    score = verdict.score if verdict else None
    failed = one_line(verdict.failed, 200) if verdict and verdict.failed else "not judged"
    words = failed if score is None else f"{metric_text(score)} of its sentences entailed"
    agreed = header.agreement
    rows: list[tuple[str, str, Node]] = [
        (
            KAPPA,
            "agreement with people",
            [_interval(agreed.kappa), f" {pluralize(agreed.claims, 'labelled claim')}"]
            if agreed
            else "not measured: nobody has labelled claims for it",
        ),
        (STABLE, f"unchanged in {pluralize(header.repeats, 'repetition')}", _interval(judged.stable)),
        (
            ENTAILED,
            "mean of all answers",
            [_interval(judged.scores), f" ± {metric_text(judged.deviation)} by repetition"],
        ),
    ]
    markup.show(
        markup.section_heading("Judge", f"{header.judge.partition('@')[0]}: {words}"),
        div(".oq-judge")[(div(title=HELP[name])[span[label], span[value]] for name, label, value in rows)],
    )
    with st.expander("Prompt of the judge", icon=":material/gavel:", key="answers_prompt", type="compact"):
        markup.show(pre(".oq-prompt", tabindex="0")[example_prompt()])


def _interval(interval: Interval | None) -> Node:
    if interval is None:
        return None
    return [b[metric_text(interval.mean)], f" [{metric_text(interval.low)}, {metric_text(interval.high)}]"]
