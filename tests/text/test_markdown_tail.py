import pytest

from core.text.markdown.safe_markdown import safe_markdown
from core.text.markdown.tail import LEFT_OUT, closed_markdown, tail_of_markdown

TABLE = "| name | use |\n|---|---|\n" + "".join(f"| kettle {n} | boils water [1] |\n" for n in range(700))


def test_a_short_text_is_left_as_it_is() -> None:
    assert tail_of_markdown("Two words.", 100) == "Two words."


def test_end_of_a_long_text_begins_at_a_whole_line() -> None:
    text = "".join(f"Line {n}.\n" for n in range(1000))
    tail = tail_of_markdown(text, 200)
    assert tail.startswith(f"{LEFT_OUT}Line ")
    assert tail.endswith("Line 999.\n")
    assert len(tail) <= len(LEFT_OUT) + 200


def test_table_of_20000_characters_stays_a_bounded_table() -> None:
    assert len(TABLE) > 20_000
    tail = tail_of_markdown(f"Some words.\n\n{TABLE}", 8000)
    assert len(tail) < 9000
    assert tail.startswith(f"{LEFT_OUT}| name | use |\n|---|---|\n| kettle")
    assert "| kettle 699 | boils water[1](#src-1) |" in safe_markdown(tail, range(1, 2))


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_code_that_is_cut_stays_code(fence: str) -> None:
    code = f"Words.\n\n{fence}python\n" + "x = 1\n" * 1000
    assert tail_of_markdown(code, 200).startswith(f"{LEFT_OUT}{fence}python\nx = 1\n")
    assert tail_of_markdown(f"{code}{fence}\n" + "Words.\n" * 100, 200).startswith(f"{LEFT_OUT}Words.\n")


def test_a_text_without_any_line_end_is_cut_too() -> None:
    assert tail_of_markdown("x" * 10_000, 100) == LEFT_OUT + "x" * 100


def test_table_head_longer_than_the_limit_is_left_out() -> None:
    assert len(tail_of_markdown("| a " * 5000 + "|\n|---|\n" + "| b |\n" * 100, 200)) < 600


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Chunks of **about 500", "Chunks of **about 500**"),
        ("Chunks of **about 500 ", "Chunks of **about 500**"),
        ("Chunks of **about 500*", "Chunks of **about 500**"),
        ("Chunks of **about 500**", "Chunks of **about 500**"),
        ("Chunks of **", "Chunks of "),
        ("- **one** is\n- **two", "- **one** is\n- **two**"),
        ("Set `top_k", "Set `top_k`"),
        ("**bold with *both", "**bold with *both***"),
        ("2 * 3 and 4*5 and snake_case", "2 * 3 and 4*5 and snake_case"),
        ("```python\nx = a **b", "```python\nx = a **b"),
        ("An **open\n\nparagraph", "An **open\n\nparagraph"),
        ("这是**重点", "这是**重点**"),
    ],
)
def test_unfinished_emphasis_is_closed(written: str, shown: str) -> None:
    assert closed_markdown(written) == shown


def test_streamed_bold_text_never_shows_its_marks() -> None:
    text = "The answer: **chunk overlap** keeps sentences whole.\n\n1. **Size** matters, *a lot*."
    for end in range(1, len(text) + 1):
        assert "\\*" not in safe_markdown(closed_markdown(text[:end])), text[:end]
