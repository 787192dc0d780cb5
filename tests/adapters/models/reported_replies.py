"""Replies of model servers as users of other programs have reported them: what is sent, and how it is to be read.

One line is one report. All thoughts have the word "ponder", and no answer has it. CONTRIBUTING.md says how to add one.
"""

import json
from dataclasses import dataclass
from typing import Any

from tests.services.openai_server import chunk, sse

ANSWER = "Tide mills turn at ebb [1]. Ponds store the flood [2]."
THOUGHT = "I ponder tides, then answer."
CALL = ("search", {"query": "tide mill"})
OTHER = ("open", {"url": "https://mill.example/"})
TOOLS = ("search", "open")
DONE = b"data: [DONE]\n\n"
STOP = chunk({}, finish="stop")


@dataclass(frozen=True, slots=True)
class Report:
    """A reply as it is sent, and what a reader makes of it. `failure` is in the message of an incomplete one."""

    name: str
    body: bytes
    answer: str = ANSWER
    thought: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    finish: str = "stop"
    failure: str = ""
    tools: tuple[str, ...] = ()
    counted: bool | None = None
    """Whether the token counts are believed; None: there are none."""


def text(*pieces: str, end: bytes = STOP + DONE) -> bytes:
    """A stream of these texts."""
    return b"".join(chunk({"content": piece}) for piece in pieces) + end


def deltas(*pieces: dict[str, Any], end: bytes = STOP + DONE) -> bytes:
    """A stream of these deltas."""
    return b"".join(map(chunk, pieces)) + end


def called(*pieces: dict[str, Any], end: bytes = STOP + DONE) -> bytes:
    """A stream of pieces of tool calls."""
    return deltas(*({"tool_calls": [piece]} for piece in pieces), end=end)


def fn(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    """A piece of a tool call."""
    return {"function": {"name": name, "arguments": arguments}, **more}


def whole(message: dict[str, Any], **more: Any) -> bytes:
    """A reply in one piece."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"} | more
    return json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode()


def counts(**usage: Any) -> bytes:
    """A stream whose last chunk counts tokens."""
    return text(ANSWER, end=STOP + chunk(usage=usage) + DONE)


HALVES = ("Tide mills turn at ", "ebb [1]. Ponds store the flood [2].")
ARGUMENTS = json.dumps(CALL[1])
OTHER_ARGUMENTS = json.dumps(OTHER[1])
MARKED = f'<tool_call>{{"name": "search", "arguments": {ARGUMENTS}}}</tool_call>'
DAMAGED = (
    f"{ARGUMENTS}}}",
    ARGUMENTS[:-1],
    ARGUMENTS[:-1] + ",}",
    "{query: 'tide mill'}",
    '{"query": "tide\\ mill"}',
)
CALLED: dict[str, Any] = {"answer": "", "calls": (CALL,), "finish": "tool_calls", "tools": TOOLS}
TWICE: dict[str, Any] = CALLED | {"calls": (CALL, OTHER)}
THINKS: dict[str, Any] = {"thought": THOUGHT}
BROKEN: dict[str, Any] = {"answer": HALVES[0].strip()}
ONLY: dict[str, Any] = {"answer": "", "thought": THOUGHT}
LEFT = HALVES[0]
MARKED_BESIDE: dict[str, Any] = {"extra_content": {"google": {"thought": True}}}


# fmt: off
FRAMES = (
    Report("plain text", text(*HALVES)),
    Report("empty data", b"data:\n\n" + text(HALVES[0], end=b"data: \n\n") + text(HALVES[1])),
    Report("comment wrapped as data", b"data: : WAITING\n\n" + text(*HALVES)),
    Report("comments", b": WAITING\n\n: WAITING\n\n" + text(*HALVES)),
    Report("null", text(HALVES[0], end=b"data: null\n\n") + text(HALVES[1])),
    Report("ping event", b'event: ping\ndata: {"type": "ping"}\n\n' + text(*HALVES)),
    Report("event without data", text(HALVES[0], end=b"event: keepalive\n\n") + text(HALVES[1])),
    Report("words as data", text(HALVES[0], end=b"data: keep-alive\n\n") + text(HALVES[1])),
    Report("JSON that is no chunk", text(HALVES[0], end=sse({"type": "heartbeat"}) + sse([]) + sse(7)) + text(HALVES[1])),
    Report("no blank lines", text(*HALVES).replace(b"\n\n", b"\n")),
    Report("CRLF", text(*HALVES).replace(b"\n", b"\r\n")),
    Report("no space after data", text(*HALVES).replace(b"data: ", b"data:")),
    Report("data twice", text(*HALVES).replace(b"data: {", b"data: data: {")),
    Report("JSON by lines", text(*HALVES, end=STOP).replace(b"data: ", b"").replace(b"\n\n", b"\n")),
    Report("two chunks in one frame", text(HALVES[0], end=b"").strip() + text(HALVES[1]).removeprefix(b"data:")),
    Report("end mark in lower case", text(*HALVES, end=b"data: [done]\n\n")),
    Report("whole reply", whole({"role": "assistant", "content": ANSWER})),
    Report("whole reply after blank lines", b"\n\n\n" + whole({"role": "assistant", "content": ANSWER})),
    Report("whole message in a stream", sse(json.loads(whole({"content": ANSWER}))) + DONE),
    Report("message repeated at the end", text(*HALVES, end=sse({"choices": [{"delta": {}, "message": {"content": ANSWER}, "finish_reason": "stop"}]}) + DONE)),
    Report("empty choices first", sse({"choices": [], "prompt_filter_results": []}) + text(*HALVES)),
    Report("empty finish reasons", text(*HALVES).replace(b'"finish_reason": null', b'"finish_reason": ""')),
    Report("Ollama's own form", b"".join(json.dumps({"message": {"content": half}, "done": half == HALVES[1]}).encode() + b"\n" for half in HALVES)),
    Report("second choice beside", text(HALVES[0], end=sse({"choices": [{"index": 1, "delta": {"content": "Other."}}]})) + text(HALVES[1])),
    Report("a response without its end", b"".join(sse({"response": half, "p": "ab"}) for half in HALVES) + sse({"response": "", "usage": {}}) + DONE),
    Report("legacy text", b"".join(sse({"choices": [{"text": half, "index": 0}]}) for half in HALVES) + DONE),
)
BREAKS = (
    Report("no end", text(LEFT, end=b""), failure="stopped before its end", **BROKEN),
    Report("cut in a frame", text(LEFT, end=b'data: {"choices": [{"del'), failure="stopped before its end", **BROKEN),
    Report("error object", text(LEFT, end=sse({"error": {"message": "Host left", "code": 502}}) + DONE), failure="Host left", **BROKEN),
    Report("error text", text(LEFT, end=sse({"error": "Too many workers"}) + DONE), failure="Too many workers", **BROKEN),
    Report("error beside choices", text(LEFT, end=sse({"error": {"message": "Gone"}, "choices": [{"delta": {}, "finish_reason": "error"}]}) + DONE), failure="Gone", **BROKEN),
    Report("error in the choice", text(LEFT, end=sse({"choices": [{"delta": {}, "error": {"message": "Gone"}}]}) + DONE), failure="Gone", **BROKEN),
    Report("error as detail", text(LEFT, end=sse({"detail": "Gone"}) + DONE), failure="Gone", **BROKEN),
    Report("error as a message and a code", text(LEFT, end=sse({"code": 500, "msg": "Gone"}) + DONE), failure="Gone", **BROKEN),
    Report("error in an error", text(LEFT, end=sse({"error": {"error": {"message": "Gone"}}}) + DONE), failure="Gone", **BROKEN),
    Report("error in words", text(LEFT, end=b"data: [ERROR] Gone\n\n" + DONE), failure="Gone", **BROKEN),
    Report("error of a gateway", text(LEFT, end=b"<html><body>502 Bad Gateway</body></html>\n" + DONE), failure="web page", **BROKEN),
    Report("error event", text(LEFT, end=b'event: error\ndata: {"message": "Gone"}\n\n' + DONE), failure="Gone", **BROKEN),
    Report("error event in words", text(LEFT, end=b"event: error\ndata: upstream went away\n\n" + DONE), failure="upstream went away", **BROKEN),
    Report("error by its type", text(LEFT, end=sse({"type": "error", "error": {"type": "overloaded_error"}}) + DONE), failure="overloaded_error", **BROKEN),
    Report("error by its object", text(LEFT, end=sse({"object": "error", "message": "CUDA", "code": 500}) + DONE), failure="CUDA", **BROKEN),
    Report("list of an error", text(LEFT, end=sse([{"error": {"code": 503, "message": "Overloaded"}}]) + DONE), failure="Overloaded", **BROKEN),
    Report("status beside", text(LEFT, end=sse({"base_resp": {"status_code": 1013, "status_msg": "Unknown"}}) + DONE), failure="Unknown", **BROKEN),
    Report("error beside null choices", text(LEFT, end=sse({"choices": None, "error_message": "Gone"}) + DONE), failure="Gone", **BROKEN),
    Report("error as a field of its own", text(LEFT, end=b'error: {"code": 500, "message": "Gone"}\n\n' + DONE), failure="Gone", **BROKEN),
    Report("error beside the counts", text(LEFT, end=sse({"choices": [{"delta": {}}], "x_groq": {"id": "1", "error": "Gone"}}) + DONE), failure="Gone", **BROKEN),
    Report("list of an error over several lines", text(LEFT, end=b"data: [{\ndata: \"error\": {\"code\": 429,\ndata: \"message\": \"Gone\"}}]\n\n" + DONE), failure="Gone", **BROKEN),
    Report("native reason", text(LEFT, end=sse({"choices": [{"delta": {}, "finish_reason": "stop", "native_finish_reason": "network_error"}]}) + DONE), failure="network_error", **BROKEN),
    Report("native reason in another word", text(LEFT, end=sse({"choices": [{"delta": {}, "finish_reason": "stop", "native_finish_reason": "UPSTREAM_TIMEOUT"}]}) + DONE), failure="UPSTREAM_TIMEOUT", **BROKEN),
    Report("reason of no resources", text(LEFT, end=chunk({}, finish="insufficient_system_resource") + DONE), failure="insufficient_system_resource", **BROKEN),
    Report("no error", text(*HALVES, end=STOP + sse({"id": "1", "choices": [], "error": None}) + DONE)),
)
REFUSALS = (
    Report("refusal in pieces", deltas({"content": None, "refusal": ""}, {"refusal": "I can"}, {"refusal": "not."}), answer="I cannot.", finish="refusal"),
    Report("refusal as a part", deltas({"content": [{"type": "refusal", "refusal": "I cannot."}]}), answer="I cannot.", finish="refusal"),
    Report("refusal in a whole reply", whole({"content": None, "refusal": "I cannot."}), answer="I cannot.", finish="refusal"),
    Report("refusal as a reason", text("I cannot.", end=sse({"choices": [{"delta": {}, "finish_reason": "stop", "native_finish_reason": "refusal"}]}) + DONE), answer="I cannot.", finish="refusal"),
    Report("content filter", text(LEFT, end=chunk({}, finish="content_filter") + DONE), finish="content_filter", **BROKEN),
    Report("content filter by its native reason", text(LEFT, end=sse({"choices": [{"delta": {}, "finish_reason": "stop", "native_finish_reason": "SAFETY"}]}) + DONE), finish="content_filter", **BROKEN),
)
THOUGHTS = (
    *(Report(f"field {name}", deltas({name: THOUGHT}, {"content": ANSWER}), **THINKS) for name in ("reasoning", "reasoning_content", "thinking", "thoughts")),
    Report("two fields with the same", deltas({"reasoning": THOUGHT, "reasoning_content": THOUGHT}, {"content": ANSWER}), **THINKS),
    Report("details", deltas({"content": "", "reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}]}, {"content": ANSWER}), **THINKS),
    Report("parts", deltas({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}]}, {"content": [{"type": "text", "text": ANSWER}]}), **THINKS),
    Report("blocks", deltas({"thinking_blocks": [{"type": "thinking", "thinking": THOUGHT}]}, {"content": ANSWER}), **THINKS),
    *(Report(f"tag {name}", text(f"<{name}>{THOUGHT[:9]}", f"{THOUGHT[9:]}</{name}>\n\n{ANSWER}"), **THINKS) for name in ("think", "THINK", "Thinking", "thought", "reasoning", "seed:think", "scratchpad")),
    Report("tag in pieces", text("<", "thi", "nk>\nI pon", *THOUGHT[5:], "\n", "</th", "ink>\n", "\n", ANSWER), **THINKS),
    Report("tag with attributes", text(f'<think time="3">{THOUGHT}</think>{ANSWER}'), **THINKS),
    Report("brackets", text(f"[THINK]{THOUGHT}[/THINK]{ANSWER}"), **THINKS),
    Report("tokens", text(f"<|begin_of_thought|>\n{THOUGHT}\n<|end_of_thought|>\n<|begin_of_solution|>\n{ANSWER}\n<|end_of_solution|>"), **THINKS),
    Report("lozenges", text(f"◁think▷{THOUGHT}◁/think▷{ANSWER}"), **THINKS),
    Report("answer in tags", text(f"<think>{THOUGHT}</think>\n<answer>{ANSWER}</answer>"), **THINKS),
    Report("details of a page", text(f'<details type="reasoning" done="true">\n{THOUGHT}\n</details>\n{ANSWER}'), **THINKS),
    Report("details with a summary", text(f'<details type="reasoning" done="true">\n<summary>Thought for 3 seconds</summary>\n{THOUGHT}\n</details>\n{ANSWER}'), **THINKS),
    Report("details by their summary", text("<details>\n<summary>💭 Thinking", f" process</summary>\n\n{THOUGHT}\n\n</details>\n\n{ANSWER}"), **THINKS),
    Report("a summary within a thought", text(f"<think><summary>I ponder</summary>\n{THOUGHT}</think>{ANSWER}"), thought=f"I ponder {THOUGHT}"),
    Report("tag of a summary", text(f"<thought_summary>{THOUGHT}</thought_summary>{ANSWER}"), **THINKS),
    Report("channels", text(f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>"), **THINKS),
    Report("channels without their tokens", text(f"analysis{THOUGHT}assistantfinal{ANSWER}"), **THINKS),
    Report("channel of another family", text(f"<|channel>thought\n{THOUGHT}<channel|>{ANSWER}"), **THINKS),
    Report("channel of another family, in pieces", text(*f"<|channel>thought\n{THOUGHT}<channel|>{ANSWER}"), **THINKS),
    Report("a field of another name", deltas({"chain_of_thought": THOUGHT}, {"content": ANSWER}), **THINKS),
    Report("marked beside the content", deltas({"content": THOUGHT[:9], **MARKED_BESIDE}, {"content": THOUGHT[9:], **MARKED_BESIDE}, {"content": ANSWER}), **THINKS),
    Report("marked beside the content, with tags", deltas({"content": f"<thought>{THOUGHT[:9]}", **MARKED_BESIDE}, {"content": THOUGHT[9:], **MARKED_BESIDE}, {"content": f"</thought>{ANSWER}"}), **THINKS),
    Report("a part that is marked", deltas({"content": [{"text": THOUGHT, "thought": True}, {"text": ANSWER}]}), **THINKS),
    Report("a role of its own", deltas({"role": "reasoning", "content": THOUGHT}, {"role": "assistant", "content": ANSWER}), **THINKS),
    Report("escaped tags", text(f"&lt;think&gt;{THOUGHT}&lt;/think&gt;{ANSWER}"), **THINKS),
    Report("a fence of thoughts", text(f"```thinking\n{THOUGHT}\n```\n{ANSWER}"), **THINKS),
    Report("headings", text(f"**Thinking:** {THOUGHT}\n\n", f"**Answer:** {ANSWER}"), thought=f"**Thinking:** {THOUGHT}"),
    Report("headings without a colon", text(f"### Thinking\n{THOUGHT}\n\n", f"### Answer\n{ANSWER}"), thought=f"### Thinking {THOUGHT}"),
    Report("tags in the field of thoughts", deltas({"reasoning_content": "<think>\n"}, {"reasoning_content": f"{THOUGHT}</think>"}, {"content": ANSWER}), **THINKS),
    Report("a token at the end", text(ANSWER, "<|im_end|>")),
    Report("end mark alone", text(f"{THOUGHT}\n", "</think>\n\n", ANSWER), **THINKS),
    Report("end mark alone, whole", whole({"content": f"{THOUGHT}</think>{ANSWER}"}), **THINKS),
    Report("end mark alone, other name", text(f"The user may ponder. {THOUGHT}</thinking>\n{ANSWER}"), thought=f"The user may ponder. {THOUGHT}"),
    Report("end mark first", text("</think>\n\n", ANSWER)),
    Report("two thoughts", text("<think>Tides I ponder.</think>\n<think>Ponds I ponder.</think>", ANSWER), thought="Tides I ponder.\nPonds I ponder."),
    Report("a thought within a thought", text("<think>I ponder <think>mills</think> and ponder ponds</think>", ANSWER), thought="I ponder <think>mills\nand ponder ponds"),
    Report("a thought about the tag", text("<think>I ponder the <think> tag of models.</think>", ANSWER), thought="I ponder the <think> tag of models."),
    Report("a thought between", text(HALVES[0], "ebb [1]. <think>I ponder ponds.</think> ", "Ponds store the flood [2]."), thought="I ponder ponds."),
    Report("a thought after", text(ANSWER, "\n<think>Did I ponder enough?</think>"), thought="Did I ponder enough?"),
    Report("a thought within a sentence", text("Tide mills turn <think>I ponder when</think> at ebb [1]. Ponds store the flood [2]."), thought="I ponder when"),
    Report("an empty thought", text("<think>\n\n", "</think>\n\n", ANSWER)),
    Report("a thought without an end", text(f"<think>{THOUGHT}"), **ONLY),
    Report("reasoning alone", deltas({"reasoning_content": THOUGHT}), **ONLY),
    Report("reasoning up to the limit", deltas({"reasoning": THOUGHT}, end=chunk({}, finish="length") + DONE), finish="length", **ONLY),
)
ABOUT_MARKS = tuple(
    Report(f"about marks: {about[:24]}", text(about), answer=about)
    for about in (
        "The `<think>` tag begins a thought, and `</think>` ends it [1].",
        "The <think> tag begins a thought, and the </think> tag ends it [1].",
        "Thoughts stand between <think> and </think> in such replies [1].",
        "Use this:\n\n```xml\n<think>\nany words\n</think>\n```\n\nNothing else [1].",
        'A parser looks for "<think>" and for "</think>" [1].',
        "<details>\n<summary>Reasoning of the millers</summary>\nPonds [1].\n</details>\nTides [2].",
        "A block begins with <thinking>, a word of the template [1].",
        "If a < b and b > c, then [THEN] holds [1].",
        "Channels are written as `<|channel|>final<|message|>` [1].",
    )
)
CALLS = (
    Report("two calls", called(fn("search", ARGUMENTS, id="a", index=0), fn("open", OTHER_ARGUMENTS, id="b", index=1)), **TWICE),
    Report("same index", called(fn("search", ARGUMENTS, id="a", index=0), fn("open", OTHER_ARGUMENTS, id="b", index=0)), **TWICE),
    Report("same index without ids", called(fn("search", ARGUMENTS, index=0), fn("open", OTHER_ARGUMENTS, index=0)), **TWICE),
    Report("same id at two indexes", called(fn("search", ARGUMENTS[:6], id="a", index=0), fn("search", ARGUMENTS[6:], id="a", index=1)), **CALLED),
    Report("a new id in each piece", called(fn("search", ARGUMENTS[:6], id="a", index=0), fn(None, ARGUMENTS[6:], id="b", index=0)), **CALLED),
    Report("index as text", called(fn("search", ARGUMENTS, id="a", index="0"), fn("open", OTHER_ARGUMENTS, id="b", index="1")), **TWICE),
    Report("index changed on the way", called(fn("search", ARGUMENTS[:6], id="a", index=0), fn(None, ARGUMENTS[6:], index=1)), **CALLED),
    Report("index null", called(fn("search", ARGUMENTS, id="a", index=None), fn("open", OTHER_ARGUMENTS, id="b", index=None)), **TWICE),
    Report("name in each piece", called(fn("search", ARGUMENTS[:6], id="a", index=0), fn("search", ARGUMENTS[6:], id="a", index=0)), **CALLED),
    Report("name in pieces", called(fn("sea", "", id="a", index=0), fn("rch", ARGUMENTS, index=0)), **CALLED),
    Report("arguments as an object", called(fn("search", CALL[1], id="a", index=0)), **CALLED),
    Report("arguments as JSON in JSON", called(fn("search", json.dumps(ARGUMENTS), id="a", index=0)), **CALLED),
    Report("arguments repeated at the end", called(fn("search", ARGUMENTS[:6], id="a", index=0), fn(None, ARGUMENTS[6:], index=0), fn("search", ARGUMENTS, id="a", index=0)), **CALLED),
    Report("arguments that grow", called(fn("search", ARGUMENTS[:6], id="a", index=0), fn("search", ARGUMENTS, id="a", index=0)), **CALLED),
    Report("no arguments", called(fn("search", "", id="a", index=0)), answer="", calls=(("search", {}),), finish="tool_calls", tools=TOOLS),
    Report("legacy call", deltas({"function_call": {"name": "search", "arguments": ARGUMENTS}}), **CALLED),
    Report("call without a function", called({"name": "search", "arguments": CALL[1], "id": "a"}), **CALLED),
    Report("prefixed name", called(fn("functions.search", ARGUMENTS, id="a", index=0)), **CALLED),
    Report("numbered name", called(fn("functions.search:0", ARGUMENTS, id="a", index=0)), **CALLED),
    *(Report(f"arguments, damaged: {damaged[-12:]}", called(fn("search", damaged, id="a", index=0)), **CALLED) for damaged in DAMAGED),
    Report("name in another case", called(fn("Search", ARGUMENTS, id="a", index=0)), **CALLED),
    Report("arguments in a fence", called(fn("search", f"```json\n{ARGUMENTS}\n```", id="a", index=0)), **CALLED),
    Report("call as a part", deltas({"content": [{"type": "tool_use", "id": "a", "name": "search", "input": CALL[1]}]}), **CALLED),
    Report("whole message with calls", whole({"content": None, "tool_calls": [fn("search", ARGUMENTS, id="a")]}), **CALLED),
    Report("call in tags", text("<tool_call>\n", json.dumps({"name": "search", "arguments": CALL[1]}), "\n</tool_call>"), **CALLED),
    Report("call in a fence", text("```json\n" + json.dumps({"name": "search", "arguments": CALL[1]}) + "\n```"), **CALLED),
    Report("call as bare JSON", text(json.dumps({"name": "search", "parameters": CALL[1]})), **CALLED),
    Report("call as a list", text("[TOOL_CALLS]" + json.dumps([{"name": "search", "arguments": CALL[1]}, {"name": "open", "arguments": OTHER[1]}])), **TWICE),
    Report("call by its name", text(f"[TOOL_CALLS]search[ARGS]{ARGUMENTS}"), **CALLED),
    Report("call as a function tag", text(f"<function=search>{ARGUMENTS}</function>"), **CALLED),
    Report("call with parameter tags", text("<tool_call>\n<function=search>\n<parameter=query>\ntide mill\n</parameter>\n</function>\n</tool_call>"), **CALLED),
    Report("call with keys and values", text("<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>tide mill</arg_value>\n</tool_call>"), **CALLED),
    Report("call as invoked", text('<invoke name="search"><parameter name="query">tide mill</parameter></invoke>'), **CALLED),
    Report("call as Python", text('[search(query="tide mill")]'), **CALLED),
    Report("calls as Python", text("[search(query='tide mill'), open(url='https://mill.example/')]"), **TWICE),
    Report("call with bare keys", text('<|tool_call>call:search{query:<|"|>tide mill<|"|>}<tool_call|>'), **CALLED),
    *(Report(f"call in tags of {space}", text(f'<{space}function_calls>\n<{space}invoke name="search">\n<{space}parameter name="query" string="true">tide mill</{space}parameter>\n</{space}invoke>\n</{space}function_calls>'), **CALLED) for space in ("｜DSML｜", "minimax:")),
    Report("call within a thought that does not end", text(f"<think>{THOUGHT}\n{MARKED}"), thought=f"{THOUGHT}\n{MARKED}", **CALLED),
    Report("call in the field of thoughts", deltas({"reasoning_content": MARKED}), thought=MARKED, **CALLED),
    Report("call that is only considered", deltas({"reasoning": MARKED}, {"content": ANSWER}), thought=MARKED, tools=TOOLS),
    Report("call in special tokens", text(f"<|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|>"), **CALLED),
    Report("call in a channel", text(f"<|channel|>commentary to=functions.search <|constrain|>json<|message|>{ARGUMENTS}<|call|>"), **CALLED),
    Report("call in single quotes", text("<tool_call>{'name': 'search', 'arguments': {'query': 'tide mill'}}</tool_call>"), **CALLED),
    Report("call as an action", text(f"Action: search\nAction Input: {ARGUMENTS}"), **(CALLED | {"answer": "Action: search Action Input:"})),
    Report("call to a recipient", text(f"<|start|>assistant to=functions.search<|channel|>commentary json<|message|>{ARGUMENTS}<|call|>"), **CALLED),
    Report("call after a thought", text(f"<think>{THOUGHT}</think>\n<tool_call>{json.dumps({'name': 'search', 'arguments': CALL[1]})}</tool_call>"), thought=THOUGHT, **CALLED),
    Report("text before a call", text("First the tides.\n<tool_call>" + json.dumps({"name": "search", "arguments": CALL[1]}) + "</tool_call>"), **(CALLED | {"answer": "First the tides."})),
    Report("a call that was not offered", text("<tool_call>{}</tool_call>"), answer="<tool_call>{}</tool_call>"),
)
USAGES = (
    Report("counted", counts(prompt_tokens=40, completion_tokens=12, total_tokens=52), counted=True),
    Report("counted at the beginning alone", chunk(usage={"prompt_tokens": 40, "completion_tokens": 0, "total_tokens": 40}) + text(*HALVES), counted=False),
    Report("null", counts() .replace(b"{}", b"null"), counted=False),
    Report("negative", counts(prompt_tokens=40, completion_tokens=-1, total_tokens=39), counted=False),
    Report("absurd", counts(prompt_tokens=40, completion_tokens=10**12, total_tokens=10**12), counted=False),
    Report("more than was asked for", counts(prompt_tokens=40, completion_tokens=900_000, total_tokens=900_040), counted=False),
    Report("other names", counts(input_tokens=40, output_tokens=12), counted=True),
    Report("in the choice", text(*HALVES, end=sse({"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 40, "completion_tokens": 12}}]}) + DONE), counted=True),
)
# fmt: on
REPORTS = (*FRAMES, *BREAKS, *REFUSALS, *THOUGHTS, *ABOUT_MARKS, *CALLS, *USAGES)
