"""Knobs of a whole run: its method and its budgets."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from core.config.knob_control import Control

STRICT = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""The rules of every group of knobs."""


class Method(StrEnum):
    """How a run is steered."""

    PIPELINE = "pipeline"
    AGENT = "agent"
    DEEP = "deep"

    @property
    def summary(self) -> str:
        """The method in a sentence."""
        match self:
            case Method.PIPELINE:
                return "Fixed steps. Cheapest and repeatable."
            case Method.AGENT:
                return (
                    "The chat model decides step by step what to search, open and look up before it answers."
                )
            case Method.DEEP:
                return "A plan of sub-questions that you approve, each researched, and one report."


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class RunKnobs:
    """How a run is steered, and its budget. A budget that runs out ends the run with an answer from what there is."""

    method: Annotated[Method, Field(title="Method")] = Method.PIPELINE
    """pipeline does each phase once, agent lets the chat model call tools step by step, deep researches a plan of sub-questions that you approve."""
    max_steps: Annotated[int, Field(ge=1, le=50, title="Steps")] = 12
    """The most calls of tools by an agent before it answers."""
    token_budget: Annotated[
        int,
        Field(ge=0, le=2_000_000, title="Token budget"),
        Control(step=10_000, unit="tokens", labels={0: "none"}),
    ] = 60_000
    """The most tokens that chat models may read and write for a run; 0 means no limit. Those of embeddings and reranking count in dollars alone."""
    time_budget: Annotated[
        int, Field(ge=0, le=3600, title="Time budget"), Control(step=10, unit="s", labels={0: "none"})
    ] = 0
    """The most seconds per run. It then answers from its results so far. 0 means no limit."""
    dollar_budget: Annotated[
        float, Field(ge=0, le=100, title="Dollar budget"), Control(step=0.05, labels={0: "none"})
    ] = 0.0
    """The most US dollars per run, as stated by providers or by the price table. 0 means no limit."""

    @property
    def own_budget(self) -> int:
        """The token budget of an agent or deep run. 0 for other runs, which have no budget."""
        return 0 if self.method is Method.PIPELINE else self.token_budget
