import pytest

from core.text.text_length import text_length

CHINESE = "检索增强生成先检索相关段落，再由模型根据这些段落写出答案。分块越小，检索越精确，但上下文越少。答案中的每个句子都应当引用来源[1]。"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 words"),
        ("One.", "1 word"),
        ("Chunks overlap by ten percent.", "5 words"),
        (CHINESE, f"{len(CHINESE)} characters"),
        ("短い答え。\n二行目。", "9 characters"),
        ("การค้นหา", "8 characters"),
        ("청크가 겹친다.", "2 words"),
        ("The term 分块 means chunking.", "5 words"),
    ],
)
def test_length_is_told_in_words_or_characters(text: str, said: str) -> None:
    assert str(text_length(text)) == said
