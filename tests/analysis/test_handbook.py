import tomllib
from pathlib import Path

from core.analysis.handbook import CONTENTS, chapters, parts
from core.config.settings import HANDBOOK


def test_the_handbook_has_titles_leads_and_related_articles() -> None:
    every = {chapter.slug: chapter for chapter in chapters(HANDBOOK)}
    chapter = every["chunk-overlap"]
    assert chapter.title == "Chunk Overlap"
    assert chapter.lead.startswith("Chunk overlap repeats")
    assert "chunk-size" in chapter.related
    assert "See also" not in chapter.body
    assert all(slug in every for chapter in every.values() for slug in chapter.related)


def test_the_contents_list_every_article_once_and_nothing_else() -> None:
    listed = [chapter.slug for part in parts(HANDBOOK) for chapter in part.chapters]
    assert sorted(listed) == sorted(path.stem for path in HANDBOOK.glob("*.md"))
    assert all(part.title and part.lead and part.chapters for part in parts(HANDBOOK))
    contents = tomllib.loads((HANDBOOK / CONTENTS).read_text("utf-8"))
    assert listed == [slug for part in contents["parts"] for slug in part["articles"]]


def test_article_outside_the_contents_comes_last(tmp_path: Path) -> None:
    for name in ("zebra", "first", "added"):
        (tmp_path / f"{name}.md").write_text(f"# {name.title()}\n\nAbout it.", "utf-8")
    listed = '[[parts]]\ntitle = "Start"\nlead = "Read this."\narticles = ["first", "gone"]\n'
    (tmp_path / CONTENTS).write_text(listed, "utf-8")
    found = [(part.title, [chapter.slug for chapter in part.chapters]) for part in parts(tmp_path)]
    assert found == [("Start", ["first"]), ("Other articles", ["added", "zebra"])]
    assert [chapter.slug for chapter in chapters(tmp_path)] == ["first", "added", "zebra"]
