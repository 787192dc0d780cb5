"""A sentence that is not in the article has a reason."""

import pytest

from core.model import Document
from core.reading.html.html_parsing import HTML_LIMIT
from core.reading.why_not import Absence, why_not_in_article
from tests.reading.test_html import PROSE

PAGE = f"""<html><body><nav><p>All the other pages of this site</p></nav><article><h1>Columns</h1><p>{PROSE}</p><p>{PROSE}</p>
<p style="display:none">Nobody can see this sentence at all</p></article><form><select><option>Choose a rock of the list</select>
</form><script>var say = "This is code of the page"</script><footer><p>Copyright of the Rock Review</p></footer>"""


@pytest.mark.parametrize(
    ("text", "absence"),
    [
        ("Most columns have  SIX sides", Absence.PRESENT),
        ("These words are nowhere", Absence.ELSEWHERE),
        ("All the other pages of this site", Absence.AROUND),
        ("Copyright of the Rock Review", Absence.AROUND),
        ("Nobody can see this sentence at all", Absence.HIDDEN),
        ("This is code of the page", Absence.SILENT),
        ("the very last sentence of a long page", Absence.BEYOND),
    ],
)
def test_the_rule_that_removed_a_sentence_is_named(text: str, absence: Absence) -> None:
    html = PAGE
    if absence is Absence.BEYOND:
        html += f"<!--{'x' * HTML_LIMIT}--><p>the very last sentence of a long page</p>"
    page = Document(
        url="https://rocks.example/", status=200, media_type="text/html", charset="utf-8", body=html.encode()
    )
    assert why_not_in_article(page, text) is absence
