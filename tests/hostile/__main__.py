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
        "the interpreter.",
        "",
        f"**{len(case_outcomes)} cases, {amiss} with another outcome than they must have, {forbidden} connections to forbidden",
        f"addresses; of {len(timeouts)} that were to use up their time, {late} ended more than a second after it.**",
    ]
    for group, members in groupby(case_outcomes, key=lambda pair: pair[0].group):
        lines += ["", f"## {group}", "", "| case | outcome | seconds |", "|---|---|---|"]
        for case, outcome in members:
            result = f"skipped: {outcome.reason}" if outcome.reason else "read"
            detail = f" ({outcome.detail})" if outcome.detail else ""
            marks = ", suspect" if outcome.page and outcome.page.has_strong_sign else ""
            lines.append(f"| {case.name} | {_cell(result + marks + detail)} | {_rounded(outcome.seconds)} |")
    return "\n".join(lines) + "\n"


def attacks_table(attack_outcomes: dict[str, str]) -> str:
    """What became of each attack by a parser that was taken over, as Markdown."""
    refused = sum(attack_outcomes[attack.name].startswith(REFUSED) for attack in ATTACKS)
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
            "| attack | outcome |",
            "|---|---|",
            *(f"| {attack.name} | {_cell(attack_outcomes[attack.name])} |" for attack in ATTACKS),
            "",
        ]
    )


def _cell(text: str) -> str:
    printable = "".join(c if c.isprintable() else "·" for c in text)[:160]
    return printable.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _rounded(seconds: float) -> str:
    """In steps that stay the same from run to run."""
    return "< 0.1" if seconds < 0.1 else "< 1" if seconds < 1 else f"{seconds:.0f}"


if __name__ == "__main__":
    case_outcomes = asyncio.run(outcomes())
    with tempfile.TemporaryDirectory() as folder:
        attack_outcomes = attacked(Path(folder))
    TABLE.write_text(table(case_outcomes) + attacks_table(attack_outcomes), encoding="utf-8")
    print(f"{TABLE}: {len(case_outcomes)} cases, {len(ATTACKS)} attacks")
    got = [name for name, outcome in attack_outcomes.items() if outcome.startswith("got")]
    sys.exit(bool(got) or any(faults(case, outcome) for case, outcome in case_outcomes))
