"""Where text goes is in the connection chip before the first question, and on the System page."""

import pytest
from streamlit.testing.v1 import AppTest

from core.runtime.registry import RunRegistry
from pages.parts import runtime
from tests.pages.conftest import opened
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI


def text_of(app: AppTest) -> str:
    assert not app.exception
    return " ".join(element.proto.body for element in app.get("html"))


def test_nothing_connected_keeps_passages_on_this_machine(registry: RunRegistry) -> None:
    assert "Passages stay on this machine." in text_of(opened(session={"connect": True}))


def test_hosted_models_and_texts_kept_from_them_are_named(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch, fake_openai: FakeOpenAI
) -> None:
    fake_openai.models = [MODEL]
    given = {
        "OPENQUERY_BASE_URL": fake_openai.base_url,
        "OPENQUERY_CHAT_MODEL": MODEL,
        "OPENQUERY_EMBEDDING_MODEL": EMBEDDER,
        "OPENQUERY_OWN_HOSTS": "",
        "OPENQUERY_PRIVATE_COLLECTIONS": "contracts",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    runtime.close()
    for page in ("", "system"):
        text = text_of(opened(page, {"connect": True}))
        assert f"the chat model {MODEL}@127.0.0.1:{fake_openai.port} (hosted)" in text
        assert f"the embedder {EMBEDDER}@" in text
        assert "Text of the collection contracts is withheld from hosted models." in text
