"""What fills the context of an answer, as a bar and a table."""

from htpy import Element, b, caption, div, i, span, table, tbody, td, tfoot, th, thead, tr

from core.analysis.context_usage import ContextUsage, PartUsage
from core.analysis.run_usage import UNKNOWN
from core.config.prices import Cost


def context_bar(usage: ContextUsage) -> Element:
    """A segment for each part of the prompt, as wide as its share of the tokens, and a row with its figures."""
    return div(".oq-context")[
        div(
            ".bar", role="img", aria_label=", ".join(f"{part.name} {part.share:.0%}" for part in usage.parts)
        )[
            (
                div(class_=["part", part.part], style=f"flex-grow:{part.tokens}", title=part.name)[
                    span[str(part.number or part.part)]
                ]
                for part in usage.parts
            )
        ],
        table[
            caption(".oq-unseen")["The parts of the prompt"],
            thead[tr[th["part"], th(".what")["what it is"], th["tokens"], th["share"], th["cost"]]],
            tbody[map(_row, usage.parts)],
            tfoot[
                tr[
                    td[b["Prompt"]],
                    td(".what")[_counted(usage)],
                    td[f"≈{usage.tokens:,}"],
                    td["100%"],
                    td[_cost(usage.cost)],
                ]
            ],
        ],
    ]


def _row(part: PartUsage) -> Element:
    return tr[
        td[i(class_=["swatch", part.part]), part.name],
        td(".what")[part.title],
        td[f"≈{part.tokens:,}"],
        td[f"{part.share:.1%}"],
        td[_cost(part.cost)],
    ]


def _counted(usage: ContextUsage) -> str:
    return f"{usage.counted:,} counted by the server" if usage.counted is not None else ""


def _cost(cost: Cost | None) -> str:
    return str(cost) if cost else UNKNOWN
