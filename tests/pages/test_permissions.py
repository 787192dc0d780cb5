"""What visitors, signed-in people and operators may do on the pages, cell by cell of docs/security/permissions.md."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shutil import copy

import pytest
from streamlit.testing.v1 import AppTest

from core.config.permissions import Action, Caller, Role, person_id
from core.errors import NotAllowed
from core.features.evaluate.data_sets.available import HANDBOOK_NAME
from core.features.evaluate.labels.passage_labels import LABELS_NAME, label
from core.features.evaluate.services.experiments import Experiments
from core.features.library.services.connections import LibraryConnections
from core.model import Grade
from core.run.state import Run
from core.runtime.registry import RunRegistry
from pages.parts import runtime
from tests.conftest import unset_settings
from tests.pages.conftest import DEMO, answered, opened
from tests.pages.test_evaluate import BY_WORDS, data_set, ended
from tests.permissions import BUTTONS
from tests.runtime.waiting import finished

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"


class Visit:
    """A new caller at a server, and the owner of what is tried: the caller or another.

    Tests share the server, so neither has met it before.
    """

    def __init__(self, registry: RunRegistry, role: Role, *, own: bool) -> None:
        self.registry, self.role, self.own = registry, role, own
        self.session_id = secrets.token_hex(8)
        me, other = f"session {self.session_id}", f"session berta-{self.session_id}"
        if role is Role.PERSON:
            me, other = (f"{name}-{self.session_id}@example.org" for name in ("anna", "berta"))
        self.claims = {
            "iss": "https://login.example",
            "sub": self.session_id,
            "email": me,
            "email_verified": True,
        }
        self.caller = Caller.of(Role.PERSON, me, shared=registry.settings.shared)
        self.owner = me if own else other

    def open(self, page: str = "", session: Mapping[str, object] | None = None, **query: str) -> AppTest:
        user = self.claims if self.role is Role.PERSON else None
        app = opened(page, {"session_id": self.session_id, **(session or {})}, user, **query)
        assert not app.exception
        return app

    def run(self) -> Run:
        """A finished run of the owner."""
        run = answered(self.registry)
        self.registry.store.set_user(run.id, self.owner)
        return run

    def labelled(self) -> None:
        run = self.run()
        assert run.index is not None and run.ranking is not None
        best = run.index.passages[int(run.ranking.order[0])]
        made = label(run.pages[best.place.page], best.place, Grade.RELEVANT)
        kept_for = self.owner if self.registry.settings.shared else ""
        self.registry.labels.add(run.question, run.id, made, user=kept_for)


def keys(app: AppTest) -> set[str | None]:
    return {one.key for one in app.button}


def asks(visit: Visit, model_server: str = "") -> bool:
    """Asks, and is not refused the model server that is named."""
    app = visit.open(session={"knob_search_backend": "demo", "access_url": model_server})
    app.text_input(key="question").set_value(QUESTION)
    app.button(key="go").click().run()
    error = finished(visit.registry, app.session_state["run_id"]).error
    return error is None or "This OpenQuery is shared" not in error.message


def opens(visit: Visit) -> bool:
    run = visit.run()
    return visit.open(run=run.id).session_state["run_id"] == run.id


def lists(visit: Visit) -> bool:
    run = visit.run()
    app = visit.open("runs")
    return any(run.question in set(one.value["question"]) for one in app.dataframe)


def changes(visit: Visit) -> bool:
    """Searches once more in a run, and stops it."""
    run = visit.run()
    app = visit.open("explain", run=run.id, view="queries")
    app.text_input(key="new_query").set_value("overlap of chunks")
    app.button(key="search_more").click().run()
    assert not app.exception
    after = finished(visit.registry, run.id)
    changed = len(after.queries) > len(run.queries)
    assert changed or "is not yours" in app.warning[0].value
    return changed


def shares(visit: Visit) -> bool:
    """Makes a link to a run in its menu, opens it, and takes it back."""
    run = visit.run()
    visit.registry.store.flush()
    app = visit.open(run=run.id, session={"export": True})
    if "link_make" not in keys(app):
        return False
    app.button(key="link_make").click().run()
    (made,) = visit.registry.links.of(run.id)
    app.button(key=f"link_take_back_{made.id}").click().run()
    return not app.exception and visit.registry.links.of(run.id) == ()


def keeps(visit: Visit) -> bool:
    """Sees a preset of the owner."""
    visit.registry.presets.save("three", DEMO, visit.owner if visit.registry.settings.shared else "")
    return "three" in visit.open().selectbox(key="preset_main").options


def evaluates_labels(visit: Visit) -> bool:
    visit.labelled()
    app = visit.open("evaluate", view="new")
    if LABELS_NAME not in {
        name for one in app.selectbox if one.key == "evaluate_data" for name in one.options
    }:
        return False
    app.selectbox(key="evaluate_data").set_value(LABELS_NAME).run()
    before = {one.id for one in visit.registry.service(Experiments).all()}
    app.button(key="evaluate_start").click().run()
    (one,) = (one for one in visit.registry.service(Experiments).all() if one.id not in before)
    results = visit.registry.service(Experiments).results(ended(visit.registry, one.id).id)
    return results is not None and len(results.questions) == 1


def evaluates_data_sets(visit: Visit) -> bool:
    app = visit.open("evaluate", view="new")
    offered = [one for one in app.selectbox if one.key == "evaluate_data"]
    assert bool(offered) is ("evaluate_start" in keys(app))
    return any(HANDBOOK_NAME in one.options for one in offered)


def changes_experiments(visit: Visit) -> bool:
    experiments = visit.registry.service(Experiments)
    name = experiments.start(data_set(visit.registry), BY_WORDS, visit.owner)
    ended(visit.registry, name)
    app = visit.open("evaluate", experiment=name)
    if not keys(app) & set(BUTTONS[Action.CHANGE_EXPERIMENT]):
        return False
    app.button(key="evaluate_delete").click().run()
    return experiments.get(name) is None


def changes_library(visit: Visit) -> bool:
    app = visit.open("library")
    assert not set(BUTTONS[Action.CHANGE_LIBRARY]) & keys(app) or visit.caller.may(Action.CHANGE_LIBRARY)
    if "make_collection" not in keys(app):
        return False
    name = f"notes-{visit.session_id}"
    app.text_input(key="new_collection").set_value(name)
    app.button(key="make_collection").click().run()
    return name in visit.registry.call(
        visit.registry.engine.part(LibraryConnections).database.names(), timeout=20
    )


TRIES: dict[Action, Callable[[Visit], bool]] = {
    Action.ASK: asks,
    Action.OPEN_RUN: opens,
    Action.LIST_RUNS: lists,
    Action.CHANGE_RUN: changes,
    Action.SHARE_RUN: shares,
    Action.KEEP_LABELS: keeps,
    Action.EVALUATE_LABELS: evaluates_labels,
    Action.EVALUATE_DATA_SETS: evaluates_data_sets,
    Action.CHANGE_EXPERIMENT: changes_experiments,
    Action.READ_LIBRARY: lambda visit: bool(visit.open("library").selectbox(key="chosen_collection").options),
    Action.CHANGE_LIBRARY: changes_library,
    Action.NAME_SERVERS: lambda visit: asks(visit, "http://127.0.0.1:9/v1"),
    Action.SET_PRICES: lambda visit: "prices_save" in keys(visit.open("system")),
    Action.CLEAR_CACHE: lambda visit: "clear_cache" in keys(visit.open("system")),
    Action.SEE_STATE: lambda visit: "probe" in keys(visit.open("system")),
}


@pytest.fixture(scope="module", params=[Role.VISITOR, Role.PERSON, Role.OPERATOR])
def role(request: pytest.FixtureRequest) -> Role:
    return Role(request.param)


@pytest.fixture(scope="module")
def served(role: Role, tmp_path_factory: pytest.TempPathFactory, demo_cache: Path) -> Iterator[RunRegistry]:
    """The registry of a shared server; for an operator that of one that is not.

    A role's tests share it, because the System page starts a process for reading in every registry.
    """
    folder = tmp_path_factory.mktemp("served")
    copy(demo_cache, folder / "cache.sqlite")
    settings = {
        "OPENQUERY_DATA": str(folder),
        "OPENQUERY_SHARED": str(role is not Role.OPERATOR).lower(),
        "OPENQUERY_WORKERS": "1",
    }
    with pytest.MonkeyPatch.context() as environment:
        unset_settings(environment)
        for name, value in settings.items():
            environment.setenv(name, value)
        runtime.close()
        registry = runtime.runs()
    yield registry
    runtime.close()


@pytest.mark.parametrize("own", [True, False], ids=["own", "of others"])
@pytest.mark.parametrize("action", TRIES, ids=lambda action: action.name)
def test_each_cell_of_the_table(served: RunRegistry, role: Role, action: Action, own: bool) -> None:
    visit = Visit(served, role, own=own)
    caller = Caller(role, visit.caller.name)
    assert TRIES[action](visit) is caller.may(action, visit.owner)


def test_what_has_no_button_is_tried_at_the_api() -> None:
    assert set(Action) - set(TRIES) == {Action.USE_SESSION, Action.SET_DEFAULTS}
    assert set(BUTTONS) <= set(TRIES)


def test_what_is_refused_says_what_to_do() -> None:
    visitor = Caller(Role.VISITOR, "session anna")
    with pytest.raises(NotAllowed, match=r"tag and delete a run that is not yours\. Use one of your own\."):
        visitor.require(Action.CHANGE_RUN, "session berta")
    with pytest.raises(NotAllowed, match=r"you may not clear the cache\. Ask the operator\."):
        visitor.require(Action.CLEAR_CACHE)


@pytest.mark.parametrize("verified", [None, False, "false", 0, ""])
def test_unverified_address_of_a_provider_is_nobody(verified: object) -> None:
    claims: dict[str, object] = {"iss": "https://login.example", "sub": "7", "email": "anna@example.org"}
    assert person_id(claims) == "https://login.example 7"
    assert person_id({**claims, "email_verified": verified}) == "https://login.example 7"
    for said in (True, "true"):
        assert person_id({**claims, "email_verified": said}) == "anna@example.org"
