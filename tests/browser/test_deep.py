"""A plan that a person edits and approves, and the report that comes of it."""

import pytest
from playwright.sync_api import expect

from tests.browser.axe import findings
from tests.browser.page_objects import App
from tests.services.openai_server import FakeOpenAI, streamed

BM25, COSINE, FUSION = "What does BM25 reward?", "What does cosine compare?", "How are rankings fused?"
LONG = f"Who was Robertson, {'and who worked with him on probabilistic ranking, ' * 4}and when?"
QUERIES = "passage ranking"


@pytest.mark.thorough
def test_a_plan_is_edited_approved_and_researched(model_app: App, model: FakeOpenAI) -> None:
    model.chats.append(streamed("\n".join((BM25, COSINE, LONG))))
    model_app.open()
    model_app.use_demo_library()
    model_app.knob("run_method").get_by_role("radio", name="deep").click()
    expect(model_app.page.get_by_test_id("stSidebar")).to_contain_text("A plan of sub-questions")
    model_app.at_rest()
    model_app.field("question").fill("How should passages be ranked?")
    model_app.field("question").press("Control+Enter")
    plan = model_app.keyed("plan")
    fields = plan.get_by_role("textbox")
    expect(fields).to_have_count(3)
    expect(fields.last).to_have_value(LONG)
    assert fields.last.evaluate("field => field.scrollHeight <= field.clientHeight + 2"), (
        "a whole sub-question is seen"
    )
    expect(model_app.answer).to_contain_text("waits for your approval")
    plan.get_by_role("button", name="Move sub-question 2 up").click()
    expect(fields.first).to_have_value(COSINE)
    model_app.keyed("plan_row_2").get_by_test_id("stCheckbox").locator("label").click()
    approve = model_app.button("plan_approve")
    expect(approve).to_contain_text("2 sub-questions")
    model_app.button("plan_add").click()
    expect(fields).to_have_count(4)
    fields.last.fill(FUSION)
    fields.last.press("Control+Enter")
    expect(approve).to_contain_text("3 sub-questions")
    fields.nth(1).fill("What does BM25 reward in a passage?")
    fields.nth(1).press("Control+Enter")
    model_app.at_rest()
    assert findings(model_app.page, "plan") == ()
    for answer in ("Angles [1].", "Rare words [1].", "By ranks [1].", "By angles and words [1]."):
        if answer != "By angles and words [1].":
            model.chats.append(streamed(QUERIES))
        model.chats.append(streamed(answer))
    approve.click()
    sections = model_app.keyed("sections").locator(".oq-sections li")
    expect(sections.filter(has_text="sources,")).to_have_count(3)
    model_app.finished()
    expect(model_app.answer.get_by_role("heading", level=3)).to_have_text(
        ["In brief", COSINE, "What does BM25 reward in a passage?", FUSION]
    )
    expect(model_app.keyed("sections").get_by_role("row")).to_have_count(2)
    expect(model_app.button("run_go_on")).to_have_count(0)
    assert findings(model_app.page, "report") == ()
