"""Run every case and write the table of outcomes: `python -m tests.hostile` → docs/security/cases.md."""

import asyncio
import sys
import tempfile
from itertools import groupby
from pathlib import Path

from core.model import SkipReason
from tests.hostile.attacks import ATTACKS
from tests.hostile.case import Case
from tests.hostile.cases import CASES
from tests.hostile.taken_over import REFUSED
from tests.hostile.victim import outcomes as attacked
from tests.hostile.world import Outcome, faults, fetch_case, readers

TABLE = Path(__file__).parents[2] / "docs" / "security" / "cases.md"


async def outcomes() -> list[tuple[Case, Outcome]]:
    async with readers() as workers:
        await workers.start()
        outcomes_of_cases = []
        for case in CASES:
            outcome = await fetch_case(case, workers)
            print(
                "." if not faults(case, outcome) else f"\n{case.name}: {faults(case, outcome)}\n",
                end="",
                flush=True,
            )
            outcomes_of_cases.append((case, outcome))
        print()
        return outcomes_of_cases


def table(case_outcomes: list[tuple[Case, Outcome]]) -> str:
    """The outcomes as Markdown."""
    timeouts = [(case, outcome) for case, outcome in case_outcomes if outcome.reason is SkipReason.TIMEOUT]
    late = sum(outcome.seconds > case.patience + 1 for case, outcome in timeouts)
    forbidden = sum(len(outcome.forbidden) for _, outcome in case_outcomes)
    amiss = sum(bool(faults(case, outcome)) for case, outcome in case_outcomes)
    lines = [
        "# The hostile web, case by case",
        "",
        "Each case is served on loopback and goes through the client, the reading workers and the read stage that every",
        "run uses. Made by `python -m tests.hostile`, which runs every case anew; `tests/hostile/test_hostile.py` checks",
        "the same table at every change. Forbidden connections are counted where sockets connect, by an audit hook of",
        "the interpreter. A page is skipped for the reason given unless it is read. Cases without seconds took less",
        "than 0.1.",
        "",
        f"**{len(case_outcomes)} cases, {amiss} with another outcome than they must have, {forbidden} connections to forbidden",
        f"addresses; of {len(timeouts)} that were to use up their time, {late} ended more than a second after it.**",
    ]
    for group, members in groupby(case_outcomes, key=lambda pair: pair[0].group):
        cases_of: dict[str, list[str]] = {}
        for case, outcome in members:
            cases_of.setdefault(_result(outcome), []).append(case.name + _seconds(outcome.seconds))
        lines += ["", f"## {group}", "", *_rows(cases_of)]
    return "\n".join(lines) + "\n"


def _result(outcome: Outcome) -> str:
    result = str(outcome.reason or "read")
    # The name of a case says what is wrong with its address.
    named = outcome.reason is SkipReason.BLOCKED
    detail = f" ({outcome.detail})" if outcome.detail and not named else ""
    return result + (", suspect" if outcome.page and outcome.page.has_strong_sign else "") + detail


def _rows(names_of: dict[str, list[str]]) -> list[str]:
    """The lines of a table of what became of which cases."""
    rows = (f"| {_cell(result)} | {_cell('; '.join(names), 2_000)} |" for result, names in names_of.items())
    return ["| outcome | cases |", "|---|---|", *rows]


def attacks_table(attack_outcomes: dict[str, str]) -> str:
    """What became of each attack by a parser that was taken over, as Markdown."""
    refused = sum(attack_outcomes[attack.name].startswith(REFUSED) for attack in ATTACKS)
    attacks_by_outcome: dict[str, list[str]] = {}
    for attack in ATTACKS:
        attacks_by_outcome.setdefault(attack_outcomes[attack.name], []).append(attack.name)
    return "\n".join(
        [
            "",
            "## A parser that was taken over",
            "",
            f"**{len(ATTACKS)} attacks, {refused} refused.** Each runs as code inside a reading worker of a server that has",
            "a key in its environment and a user on its socket. `tests/hostile/test_confinement.py` checks them, and that",
            f"they succeed in a process that is not confined. In force here: {attack_outcomes['in_force']}.",
            *([f"Missing here: {attack_outcomes['missing']}."] if attack_outcomes["missing"] else []),
            "",
            *_rows(attacks_by_outcome),
            "",
        ]
    )


def _cell(text: str, limit: int = 160) -> str:
    printable = "".join(c if c.isprintable() else "·" for c in text)[:limit]
    return printable.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _seconds(seconds: float) -> str:
    """Return the seconds of a case in steps that stay the same from run to run, or "" below a tenth."""
    return "" if seconds < 0.1 else " (< 1 s)" if seconds < 1 else f" ({seconds:.0f} s)"


if __name__ == "__main__":
    case_outcomes = asyncio.run(outcomes())
    with tempfile.TemporaryDirectory() as folder:
        attack_outcomes = attacked(Path(folder))
    TABLE.write_text(table(case_outcomes) + attacks_table(attack_outcomes), encoding="utf-8")
    print(f"{TABLE}: {len(case_outcomes)} cases, {len(ATTACKS)} attacks")
    got = [name for name, outcome in attack_outcomes.items() if outcome.startswith("got")]
    sys.exit(bool(got) or any(faults(case, outcome) for case, outcome in case_outcomes))
