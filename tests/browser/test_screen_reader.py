"""What a screen reader meets on the Ask page: names, their order, and a way through by the Tab key."""

from playwright.sync_api import expect

from tests.browser.page_objects import App

TREE = """
- textbox "Question"
- button /Ask/
- group:
  - combobox "Look in"
- button /Offline/
- list "Phases of the run":
  - 'listitem "Queries: done"'
  - 'listitem "Search: done"'
  - 'listitem "Pages: done"'
  - 'listitem "Passages: done"'
  - 'listitem "Embed: done"'
  - 'listitem "Rank: done"'
  - 'listitem "Answer: done"'
- link "Explain"
- button "Export"
- heading "How does chunk overlap affect retrieval?" [level=1]
- heading "Answer" [level=2]
- paragraph:
  - 'link "Source 1: Chunk Overlap, OpenQuery Handbook"'
- heading "Sources" [level=2]
- group "Sources"
- tablist:
  - tab "Passages" [selected]
  - tab "Search hits"
  - tab "Pages"
  - tab "Timeline"
  - tab "Prompt"
- tabpanel "Passages":
  - heading "Embedding map" [level=2]
  - figure "Passages and the question, projected from the embedding space onto a plane"
  - heading "Fused score by rank" [level=2]
  - figure "Fused score of the passages by rank, with the cut-off of the context"
  - textbox "Filter passages"
  - switch "Only in context"
  - heading "Passages" [level=2]
  - radiogroup "Score in the table":
    - radio "cosine" [checked]
  - region "Ranked passages"
"""

_STOP = """() => {
  const stop = document.activeElement;
  if (stop === document.body) return '';
  const labelled = stop.getAttribute('aria-label') || stop.getAttribute('aria-labelledby') || (stop.labels || []).length;
  const named = labelled || stop.textContent.trim() || stop.shadowRoot || stop.closest('[role="region"]');
  return `${stop.tagName} ${stop.className}` + (named || stop.querySelector('*') ? '' : ' without a name');
}"""


def test_finished_run_names_its_parts_in_order(answered: App) -> None:
    expect(answered.keyed("curve").locator(".scatterlayer").first).to_be_visible()
    expect(answered.page.get_by_role("main")).to_match_aria_snapshot(TREE)
    expect(answered.step("search").locator(".count")).to_have_text("5 hits")
    the_tab_key_goes_through_the_page_and_out_of_it(answered)


def the_tab_key_goes_through_the_page_and_out_of_it(answered: App) -> None:
    stops: list[str] = []
    while len(stops) < 200:
        answered.page.keyboard.press("Tab")
        stops.append(str(answered.page.evaluate(_STOP)))
        if not stops[-1]:
            break
    assert stops[-1] == "", "the focus does not leave the page"
    assert [stop for stop in stops if "without a name" in stop] == []
    assert any("stop" in stop or "CANVAS" in stop for stop in stops), "the table is not reached"
