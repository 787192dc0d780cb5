"""Run every case and write the table of outcomes: `python -m tests.hostile` → docs/security/cases.md."""

from __future__ import annotations

import asyncio
import sys
from itertools import groupby
from pathlib import Path

from tests.hostile.case import Case
from tests.hostile.cases import CASES
from tests.hostile.world import Outcome, decided, faults, limit, readers

TABLE = Path(__file__).parents[2] / "docs" / "security" / "cases.md"


async def outcomes() -> list[tuple[Case, Outcome]]:
    async with readers() as workers:
        await workers.start()
        found = []
        for case in CASES:
            outcome = await decided(case, workers)
            print(
                "." if not faults(case, outcome) else f"\n{case.name}: {faults(case, outcome)}\n",
                end="",
                flush=True,
            )
            found.append((case, outcome))
        print()
        return found


def table(found: list[tuple[Case, Outcome]]) -> str:
    """The outcomes as Markdown."""
    late = sum(outcome.seconds > limit(case) for case, outcome in found)
    forbidden = sum(len(outcome.forbidden) for _, outcome in found)
    amiss = sum(bool(faults(case, outcome)) for case, outcome in found)
    lines = [
        "# The hostile web, case by case",
        "",
        "Each case is served on loopback and goes through the client, the reading workers and the read stage that every",
        "run uses. Made by `python -m tests.hostile`, which runs every case anew; `tests/hostile/test_hostile.py` checks",
        "the same table at every change. Forbidden connections are counted where sockets connect, by an audit hook of",
        "the interpreter.",
        "",
        f"**{len(found)} cases, {amiss} with another outcome than they must have, {forbidden} connections to forbidden",
        f"addresses, {late} decided later than their own time limit plus one second.**",
    ]
    for group, members in groupby(found, key=lambda pair: pair[0].group):
        lines += ["", f"## {group}", "", "| case | outcome | seconds |", "|---|---|---|"]
        for case, outcome in members:
            what = f"skipped: {outcome.reason}" if outcome.reason else "read"
            detail = f" ({outcome.detail})" if outcome.detail else ""
            marks = ", suspect" if outcome.page and outcome.page.suspect else ""
            lines.append(f"| {case.name} | {_cell(what + marks + detail)} | {_rounded(outcome.seconds)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    shown = "".join(c if c.isprintable() else "·" for c in text)[:160]
    return shown.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _rounded(seconds: float) -> str:
    """In steps that stay the same from run to run."""
    return "< 0.1" if seconds < 0.1 else "< 1" if seconds < 1 else f"{seconds:.0f}"


if __name__ == "__main__":
    made = asyncio.run(outcomes())
    TABLE.write_text(table(made), encoding="utf-8")
    print(f"{TABLE}: {len(made)} cases")
    sys.exit(any(faults(case, outcome) for case, outcome in made))
