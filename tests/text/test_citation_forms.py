"""Citations in every form that models and people write, and what only looks like one.

A new form is one more line in `FORMS`: the text, and the text with short marks. What must stay as it is goes into
`LOOK_ALIKES`.
"""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model import AnswerKind
from core.stages.check import check
from core.text.facts.named_facts import unsupported_figures
from core.text.markdown.citations import CitationStream, short_marks
from core.text.markdown.safe_markdown import safe_markdown
from tests.stages.fakes import source
from tests.stages.test_answer import ScriptedChat, answered

NUMBERS = range(1, 4)

FORMS = {
    "superscript after an exclamation": ("Tea!¹ More tea!²", "Tea![1] More tea![2]"),
    "exclamation": ("Tea![2] Green!", "Tea![2] Green!"),
    "plain": ("Tea cools [1].", "Tea cools [1]."),
    "attached": ("Tea cools[1].", "Tea cools[1]."),
    "row": ("Tea cools [1][2].", "Tea cools [1][2]."),
    "list": ("Tea cools [1, 2; 3].", "Tea cools [1][2][3]."),
    "list in words": ("Tea cools [1 and 2] [1 und 3].", "Tea cools [1][2] [1][3]."),
    "range": ("Tea cools [1-3].", "Tea cools [1][2][3]."),
    "range with a dash": ("Tea cools [1–2, 3].", "Tea cools [1][2][3]."),
    "blanks": ("Tea cools [ 2 ].", "Tea cools [2]."),
    "page": ("Tea cools [2, p. 14] [2, S. 14].", "Tea cools [2] [2]."),
    "passage": ("Tea cools [1:0][2:3] [1:0, 3:112] [2:10-12].", "Tea cools [1][2] [1][3] [2]."),
    "hash": ("Tea cools [#2].", "Tea cools [2]."),
    "citation": ("Tea cools [citation:1][citation:3].", "Tea cools [1][3]."),
    "cite": ("Tea cools [cite: 1, 2].", "Tea cools [1][2]."),
    "ref": ("Tea cools [Ref. 2].", "Tea cools [2]."),
    "reference": ("Tea cools [reference 2].", "Tea cools [2]."),
    "source": ("Tea cools [Source 1] [SOURCE #2] [source_3].", "Tea cools [1] [2] [3]."),
    "number sign": ("Tea cools [Source n° 1] [Quelle Nr. 2] (source no. 3) [Source number 1].", "Tea cools [1] [2] [3] [1]."),
    "identifier": ("Tea cools [source_id: 1] [Doc ID 2] [source-index=3].", "Tea cools [1] [2] [3]."),
    "sources": ("Tea cools [Sources: 1, 3].", "Tea cools [1][3]."),
    "sources, each named": ("Tea cools [Source 1, Source 3].", "Tea cools [1][3]."),
    "title": ("Tea cools [Source 2: On tea [b], vol. 3].", "Tea cools [2]."),
    "title and address": ("Tea cools [Source 2: Tea](https://tea.example/a_(b)).", "Tea cools [2]."),
    "number and address": ("Tea cools [1](https://tea.example/a).", "Tea cools [1]."),
    "brackets with a label": ("Tea cools [[cite:3]].", "Tea cools [3]."),
    "brackets and address": ("Tea cools [[3]](https://tea.example/a).", "Tea cools [3]."),
    "document": ("Tea cools [doc2] [Document 3].", "Tea cools [2] [3]."),
    "web": ("Tea cools [web:1].", "Tea cools [1]."),
    "result": ("Tea cools [search result 1].", "Tea cools [1]."),
    "S": ("Tea cools [S2] [S1, S3].", "Tea cools [2] [1][3]."),
    "German": ("Tee kühlt ab [Quelle 1] [Quellen 2 und 3] (vgl. Quelle 1).", "Tee kühlt ab [1] [2][3] [1]."),
    "French": ("Le thé refroidit [réf. 2] (voir source 1).", "Le thé refroidit [2] [1]."),
    "Spanish": ("El té se enfría [Fuente 1] (Fuentes: 1 y 2).", "El té se enfría [1] [1][2]."),
    "Italian": ("Il tè si raffredda [Fonti 1, 2].", "Il tè si raffredda [1][2]."),
    "Russian": ("Чай остывает [Источник 2].", "Чай остывает [2]."),
    "Korean": ("차가 식는다 [출처 1].", "차가 식는다 [1]."),
    "full width": ("茶凉了［1］。", "茶凉了[1]。"),
    "full width, named": ("茶凉了［来源：2］（来源3）。", "茶凉了[2][3]。"),
    "lens": ("茶凉了【1】，【来源2】。", "茶凉了[1]，[2]。"),
    "lens and dagger": ("Tea cools 【1†source】【2†L5-L9】.", "Tea cools [1][2]."),
    "Japanese": ("お茶は冷める【出典1】。", "お茶は冷める[1]。"),
    "dagger": ("Tea cools [2†source].", "Tea cools [2]."),
    "round": ("Tea cools (Source 2), (Sources 1 and 3: Tea).", "Tea cools [2], [1][3]."),
    "round, introduced": ("Tea cools (see source 2).", "Tea cools [2]."),
    "caret": ("Tea cools [^1], [^2^] and [^source3].", "Tea cools [1], [2] and [3]."),
    "superscript": ("Tea cools² and warms.³", "Tea cools [2] and warms.[3]"),
    "superscripts": ("Tea cools¹,² fast¹⁻³.", "Tea cools [1][2] fast [1][2][3]."),
    "superscript after a year": ("Tea cooled in 1968².", "Tea cooled in 1968 [2]."),
    "sup": ("Tea cools<sup>1</sup> at 10<sup>3</sup> Pa.", "Tea cools [1] at 10<sup>3</sup> Pa."),
    "sup with a list": ("Tea cools.<sup>1, 2</sup>", "Tea cools.[1][2]"),
    "sup with a link": ('Tea cools<sup><a href="#r1">[1]</a></sup>.', "Tea cools [1]."),
    "tag": ('Tea cools <cite>2</cite> <ref id="3"/>.', "Tea cools [2] [3]."),
    "TeX": ("Tea cools \\cite{2} \\citep{doc3}.", "Tea cools [2] [3]."),
    "raised in TeX": ("Tea cools$^{2}$.", "Tea cools [2]."),
    "raised in Pandoc": ("Tea cools^2^.", "Tea cools [2]."),
    "footnotes": (
        "Tea cools[^1].\n\n[^1]: https://tea.example/a[2]",
        "Tea cools[1].\n\n[^1]: https://tea.example/a[2]",
    ),
    "superscripts and a list": (
        "Tea cools¹. It warms².\n\n¹ On tea, https://tea.example/a\n² On pots, https://tea.example/b",
        "Tea cools [1]. It warms [2].\n\n¹ On tea, https://tea.example/a\n² On pots, https://tea.example/b",
    ),
    "superscripts in a row": ("Tea cools¹². It warms<sup>1</sup><sup>2</sup>.", "Tea cools [1][2]. It warms [1][2]."),
    "braces": ("Tea cools {cite: 1} {{source 2}}.", "Tea cools [1] [2]."),
    "equals sign": ("Tea cools [source=2] <ref name=\"3\"/>.", "Tea cools [2] [3]."),
    "vitamin": ("Tea has vitamin C[2].", "Tea has vitamin C[2]."),
    "footnotes without a heading": ("Tea cools [1].\n\n[1] On tea\n[2] On pots", "Tea cools [1].\n\n[1] On tea\n[2] On pots"),
    "superscripts and titles": ("Tea cools².\n\n¹ On tea\n² On pots", "Tea cools [2].\n\n¹ On tea\n² On pots"),
    "circled": ("Tea cools ①. It warms ② and dries③ at last ❷❸.", "Tea cools [1]. It warms ② and dries [3] at last [2][3]."),
    "circled after Chinese": ("茶凉了①。茶又热了②③。", "茶凉了 [1]。茶又热了 [2][3]。"),
    "around the cited text": ("The <co: 1>tea cools</co: 1>, <co>and warms</co: 2,3>.", "The tea cools [1], and warms [2][3]."),
    "opened": ("[cite_start]Tea cools [cite: 1].\n[cite_start]Pots warm.[cite: 2, 3]", "Tea cools [1].\nPots warm.[2][3]"),
    "opened, without a source": ("[cite_start]Tea cools [cite: 9].", "Tea cools [Source 9]."),
    "tag with an attribute around the text": ('The <cite index="1">tea cools</cite>, <ref id="2">and warms.', "The tea cools [1], [2]and warms."),
    "special token": ("Tea cools <|file-1|> <|source 2|>.", "Tea cools [1] [2]."),
    "marks of a model's own search": ("Tea cools [1]\ue200cite\ue202turn0search1\ue201. It warms【turn1fetch0】.", "Tea cools [1]. It warms."),
    "index": ("Tea cools [index 1] [Index: 2, 3].", "Tea cools [1] [2][3]."),
    "without a source": ("Tea cools [Source 9].", "Tea cools [Source 9]."),
    "row without a source": ("Tea cools [1][9].", "Tea cools [1][9]."),
}  # fmt: skip

LOOK_ALIKES = {
    "code": "Call `a[1]` and ``b`[2]``.",
    "fence": "So:\n\n```python\nx[1] = [Source 2]\n```\n\nDone.",
    "fence in a list": "- So:\n- ~~~\n  y[1]\n\n  y[2]\n  ~~~",
    "open fence": "So:\n\n~~~\nx[1]",
    "year": "Tea [2024] and 【1998】 came (Source: 1968).",
    "number that no source has": "Tea [12] and [4], [4-6], [1-10], [0, 1].",
    "index": "Then x[1], argv[2] and my_list[3] are read, as is items[1] of it.",
    "index of two dimensions": "Then grid_[1][2] and the element is items[1].",
    "interval": "In the interval [1, 2], and \\sqrt[3]{x}.",
    "powers of numbers": "So 1500² and 2000², 5²·3².",
    "index that is set": "First data[1] = 3, then data[2].sort().",
    "array": "Let a = [1, 2, 3].",
    "link": "Read [Chapter 2](https://tea.example/2), [1984](https://tea.example/b) and [4](https://tea.example/[1]).",
    "address": "Read https://tea.example/?q[1]=2 and <https://tea.example/[1]>.",
    "address of a footnote": "Read https://tea.example/[^1]: and https://tea.example/[1]/b.",
    "image": "![1](https://tea.example/a.png) and ![Source 2](b.png)",
    "definition": "[^1]: On tea\n[2]: https://tea.example/b",
    "tag": '<a href="[1]">tea</a>',
    "escaped": "Tea \\[1\\] and \\[Source 1\\].",
    "powers": "An area of 5 m² or 3 km², 10³ Pa, E=mc², (a+b)², x² and chi².",
    "formula": "Ca²⁺, ¹⁴C, s⁻¹ and 2<sup>3</sup>.",
    "power beside marks": "The variance² is small [Source 9].",
    "numbers": "Tea [10,000], [007], [1.5], [ ], [x], (1) and (2).",
    "other words": "See [Figure 1], [Step 2], (Table 3), [Article 1] and (in 3).",
    "steps in circles": "Steps: ① warm ② pour ③ wait.\n\n① Warm it.\n- ② Pour it, 步骤：①加水；②加热。",
    "circle that no source has": "Tea cools ⑨.",
    "opening in code": "Write `[cite_start]` and `<co: 1>`.",
    "label alone": "[Source] or (Sources) or [Source A] or (sources vary).",
}


def in_pieces(text: str, *cuts: int) -> str:
    stream = CitationStream(NUMBERS)
    ends = [*cuts, len(text)]
    pieces = [text[start:end] for start, end in zip([0, *cuts], ends, strict=True)]
    return "".join([*map(stream.read, pieces), stream.end()])


@pytest.mark.parametrize(("text", "short"), FORMS.values(), ids=FORMS)
def test_form_is_read_as_short_mark(text: str, short: str) -> None:
    assert short_marks(text, NUMBERS) == short
    assert short_marks(short, NUMBERS) == short
    found = [(mark.number, mark.known) for mark in check(text, NUMBERS).citations]
    assert found == [(mark.number, mark.known) for mark in check(short, NUMBERS).citations]
    assert found


@pytest.mark.parametrize("text", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_look_alike_stays_as_it_is(text: str) -> None:
    shown = short_marks(text, NUMBERS)
    assert shown == text
    assert not check(text, NUMBERS).cited


@pytest.mark.parametrize(
    ("text", "short"), [*FORMS.values(), *((text, text) for text in LOOK_ALIKES.values())]
)
def test_mark_may_be_split_over_pieces(text: str, short: str) -> None:
    assert in_pieces(text, *range(1, len(text))) == short
    for cut in range(len(text)):
        assert in_pieces(text, cut) == short


@pytest.mark.parametrize(("text", "short"), FORMS.values(), ids=FORMS)
def test_figure_in_mark_is_no_fact(text: str, short: str) -> None:
    sources = tuple(source(number, "Tea cooled in 1968 at 10 Pa.") for number in NUMBERS)
    sentences = check(text, NUMBERS).sentences
    assert sentences
    assert not [
        figures for _, figures in unsupported_figures(sentences, sources) if {"1", "2", "9"} & {*figures}
    ]


@pytest.mark.parametrize(("text", "short"), FORMS.values(), ids=FORMS)
async def test_written_answer_has_short_marks(text: str, short: str) -> None:
    sources = tuple(source(number, "Tea cools.") for number in NUMBERS)
    answer, _ = await answered(ScriptedChat(*text), sources)
    assert answer.kind is AnswerKind.WRITTEN
    assert answer.text == short


@pytest.mark.parametrize(("text", "short"), FORMS.values(), ids=FORMS)
def test_page_links_each_citation(text: str, short: str) -> None:
    shown = safe_markdown(text, NUMBERS)
    for number in check(text, NUMBERS).cited:
        assert f"[{number}](#src-{number})" in shown


def test_list_of_sources_cites_and_claims_nothing() -> None:
    result = check("Tea cools [1].\n\n**Sources:**\n[1] On tea\n[2] On 30 pots", NUMBERS)
    assert result.cited == (1,)
    assert [sentence.text for sentence in result.sentences] == ["Tea cools."]


def test_superscript_waits_for_the_end_of_its_paragraph() -> None:
    stream = CitationStream(NUMBERS)
    assert stream.read("Tea cools¹ in a pot. ") == "Tea cools"
    assert stream.read("It warms.\n\nAnd") == " [1] in a pot. It warms.\n\nAnd"


def test_text_without_marks_is_passed_on_at_once() -> None:
    stream = CitationStream(NUMBERS)
    words = ["Tea", " (black", " or green) cools", " in 5", " minutes (Fig", ". 2), as", " we said"]
    assert [stream.read(word) for word in words] == words


markup = st.lists(
    st.sampled_from(
        [*'[]()^`~!:/\\$¹²【】［］（）0123456789 ,-–.\n', "[Source ", "(Sources ", "[1]", "http://a/", "来源", "<sup>", "</sup>",
         "```", "word", "[1](u)", "[^1]:", "\n\n", "- ", "> "]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@given(markup, st.data())
def test_pieces_do_not_change_what_is_passed_on(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    assert in_pieces(text, *cuts) == in_pieces(text, *range(1, len(text)))


@given(markup)
def test_short_marks_are_short_already(text: str) -> None:
    text = text.replace("`", "'")  # that of a title in a mark would have hidden other marks
    short = short_marks(text, NUMBERS)
    cited = [mark.number for mark in check(text, NUMBERS).citations]
    assert [mark.number for mark in check(short, NUMBERS).citations] == cited


def test_first_piece_is_passed_on_within_a_millisecond() -> None:
    seconds = []
    for _ in range(50):
        stream = CitationStream(NUMBERS)
        begun = time.perf_counter()
        stream.read("Tea cools [1] ")
        seconds.append(time.perf_counter() - begun)
    assert min(seconds) < 0.001
