"""The functions offered to an agent, in the form of the chat completions API."""

from dataclasses import dataclass

import orjson

from core.errors import BadInput
from core.model import ToolDefinition, ToolFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function for the model, with one text as argument."""

    name: str
    argument: str
    description: str
    about_argument: str

    @property
    def definition(self) -> ToolDefinition:
        """The definition for the model."""
        parameters = {
            "type": "object",
            "properties": {self.argument: {"type": "string", "description": self.about_argument}},
            "required": [self.argument],
        }
        return ToolDefinition(
            function=ToolFunction(name=self.name, description=self.description, parameters=parameters)
        )

    def text(self, arguments: str) -> str:
        """Return the text in the arguments of a call.

        Raises:
            BadInput: when the arguments are not a JSON object with the text.
        """
        try:
            values = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            values = None
        text = values.get(self.argument) if isinstance(values, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f'Wrong arguments: {self.name} takes {{"{self.argument}": "a text"}}.')
        return text.strip()


SEARCH = Tool(
    name="search",
    argument="query",
    description="Search for pages. Returns their titles, addresses and snippets.",
    about_argument="3 to 12 words as a person would type them into a search box",
)
OPEN = Tool(
    name="open",
    argument="url",
    description="Read a page. Returns its passages that fit the question best, and adds the page to those that the answer is written from.",
    about_argument="the address of a search result, or another https address",
)
FIND = Tool(
    name="find",
    argument="text",
    description="Look something up in the pages that have been opened. Returns the passages that fit best.",
    about_argument="what to look up, in words that a passage about it would have",
)
LIBRARY = Tool(
    name="library",
    argument="query",
    description="Search the documents of the person. Returns their passages that fit best, and adds them to those that the answer is written from.",
    about_argument="what to look up, as a phrase or question",
)
