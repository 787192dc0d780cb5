"""axe-core on a page: what it finds, but for what Streamlit draws so and we cannot change."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

SCRIPT = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that depend on the theme."""


@dataclass(frozen=True, slots=True)
class Exemption:
    rule: str
    selector: str
    """Elements of Streamlit's own; nothing that this project writes may match."""
    reason: str


EXEMPTIONS = (
    Exemption(
        "presentation-role-conflict",
        '[data-testid="stFileUploaderDropzone"]',
        "Streamlit gives its drop zone the role presentation and the focus; the button inside it is named.",
    ),
)

_RUN = """
async ([rules, skipped, exemptions, within, without]) => {
  const only = rules.length ? { runOnly: { type: 'rule', values: rules } } : {};
  const off = Object.fromEntries(skipped.map((rule) => [rule, { enabled: false }]));
  const parts = { exclude: without.map((part) => [part]) };
  if (within.length) parts.include = within.map((part) => [part]);
  const { violations } = await axe.run(parts, { ...only, rules: off, resultTypes: ['violations'], elementRef: true });
  return violations.flatMap(({ id, nodes }) => nodes.filter(({ element }) => (
    !exemptions.some(({ rule, selector }) => rule === id && element.matches(selector))
  )).map(({ target, any, all, none }) => ({
    rule: id,
    selector: target.join(' '),
    checks: [...any, ...all, ...none].map(({ id, message, data }) => ({ id, message, data })),
  })));
}
"""


_GENERATED = re.compile(r"\.(?:st-emotion-cache-\w+|e[0-9][a-z0-9]{5,})(?![\w-])")
"""Classes that differ from build to build of Streamlit."""


def findings(
    page: Page,
    where: str,
    rules: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    skipped: Sequence[str] = (),
    within: Sequence[str] = (),
) -> tuple[str, ...]:
    """Check the page as it is, by all rules or only by some, without those that are skipped.

    `within` and `without` are selectors of the only parts that are checked, and of parts that are not.
    Returns one line for each problem: where, which rule, what is wrong, and with which element.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(SCRIPT)
    found = page.evaluate(
        _RUN,
        [
            list(rules),
            list(skipped),
            [asdict(one) for one in EXEMPTIONS],
            list(within),
            list(without),
        ],
    )
    nodes: dict[str, list[str]] = {}
    for one in found:
        nodes.setdefault(f"{one['rule']}: {_why(one['checks'])}", []).append(
            _GENERATED.sub("", one["selector"])
        )
    return tuple(
        f"{where}: {why}: {some[0]}" + (f" and {len(some) - 1} more" if len(some) > 1 else "")
        for why, some in nodes.items()
    )


def _why(checks: Sequence[dict[str, Any]]) -> str:
    return "; ".join(
        "{fgColor} on {bgColor} is {contrastRatio}:1, {expectedContrastRatio} wanted".format(**one["data"])
        if one["id"] == "color-contrast"
        else str(one["message"])
        for one in checks
    )
