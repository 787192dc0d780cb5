"""The plan of a deep run in the terminal, with a person's approval."""

import sys

from core.cli.printing import print_note
from core.config.prices import Cost
from core.config.questions import checked_sub_questions
from core.errors import BadInput
from core.run.reports.plan_events import PlanProposed
from core.text.sanitize import pluralize


def require_terminal() -> None:
    """Raise `BadInput` without a terminal for approval."""
    if not sys.stdin.isatty():
        raise BadInput(
            "A plan has to be approved, and there is no terminal to ask on.",
            hint="Approve it in advance with --yes.",
        )


def approved(plan: PlanProposed, *, ask: bool) -> tuple[str, ...]:
    """Print a plan, and return the approved sub-questions.

    Without `ask` all are approved. Without approval the result is empty.
    """
    estimate, count = plan.estimate, len(plan.sub_questions)
    for number, text in enumerate(plan.sub_questions, 1):
        print_note(f"{number:3}. {text}")
    cost = f", {Cost(count * estimate.dollars, estimated=True)}" if estimate.dollars else ""
    print_note(
        f"By an estimate {pluralize(count * estimate.tokens, 'token')}{cost}, {count * estimate.seconds:.0f} s."
    )
    while ask:
        print_note("Research these sub-questions? [y]es, [n]o, [e]dit:")
        match sys.stdin.readline().strip().casefold()[:1]:
            case "y":
                break
            case "e":
                print_note("Type the sub-questions, one a line, and then an empty line:")
                try:
                    return checked_sub_questions([*iter(lambda: sys.stdin.readline().strip(), "")])
                except BadInput as error:
                    print_note(str(error))
            case _:
                print_note("The plan was not approved, so nothing was searched.")
                return ()
    return plan.sub_questions
