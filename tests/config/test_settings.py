"""What an operator sets."""

from pathlib import Path

import pytest

from core.config.settings import Settings
from core.errors import BadInput


@pytest.mark.parametrize(
    ("set_to", "asked_at"),
    [
        ("", ""),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9999", "http://127.0.0.1:9999"),
        ("[::]:9999", "http://127.0.0.1:9999"),
        ("gpu-box", "http://gpu-box:11434"),
        ("https://models.example:443", "https://models.example:443"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(set_to: str, asked_at: str) -> None:
    assert Settings(ollama_url=set_to).ollama_url == asked_at


def test_public_hosts_are_named_without_scheme_and_port() -> None:
    given = "OpenQuery.Example.ORG., 192.0.2.7,2001:DB8::0:1, [::ffff:192.0.2.8],"
    hosts = ("openquery.example.org", "192.0.2.7", "2001:db8::1", "192.0.2.8")
    assert Settings(hosts=given).public_hosts == hosts
    for wrong in ("https://openquery.example.org", "openquery.example.org:443", "*.example.org", "a b"):
        with pytest.raises(BadInput, match="OPENQUERY_HOSTS"):
            Settings.read(hosts=wrong)


def test_value_out_of_bounds_names_only_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENQUERY_PER_HOST", "4711")
    with pytest.raises(BadInput) as refused:
        Settings.read()
    assert "OPENQUERY_PER_HOST" in refused.value.message
    assert "4711" not in str(refused.value)


def test_keys_do_not_show_in_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-canary")
    settings = Settings.read()
    assert "canary" not in f"{settings} {settings!r} {settings.model_dump_json()}"


def test_the_environment_comes_before_env_file_and_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(
        'SEARXNG_URL = "http://toml"\nOPENQUERY_CHAT_MODEL = "toml"\nOPENQUERY_CACHE_MB = 7\n'
    )
    (tmp_path / ".env").write_text("SEARXNG_URL=http://dotenv\nOPENQUERY_CHAT_MODEL=dotenv\n")
    monkeypatch.setenv("SEARXNG_URL", "http://environment")
    settings = Settings.read()
    assert settings.searxng_url == "http://environment"
    assert settings.chat_model == "dotenv"
    assert settings.cache_megabytes == 7


def test_variables_of_other_programs_are_not_taken_for_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A field's name is for code; other programs use variables of that name for something else."""
    monkeypatch.chdir(tmp_path)
    untouched = Settings()
    for name, field in Settings.model_fields.items():
        if name.upper() not in field.validation_alias.choices:  # type: ignore[union-attr]
            monkeypatch.setenv(name.upper(), "10.0.0.0/8")
    (tmp_path / ".env").write_text("FETCH_ALLOWLIST=10.0.0.0/8\nbase_url=http://10.0.0.1\n")
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text('fetch_allowlist = "10.0.0.0/8"\nshared = true\n')
    assert Settings.read() == untouched
    assert Settings(fetch_allowlist="127.0.0.1/32").fetch_allowlist == "127.0.0.1/32"


def test_what_code_gives_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENQUERY_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://environment")
        assert Settings.read().base_url == "http://environment"
        assert Settings.read(base_url="http://given").base_url == "http://given"
        monkeypatch.delenv(name)


def test_operator_sets_the_default_place_to_search(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings.read().knobs == {
        "search.backend": "auto",
        "search.origin": "web",
        "search.collections": [],
    }
    monkeypatch.setenv("OPENQUERY_SEARCH_BACKEND", "demo")
    monkeypatch.setenv("OPENQUERY_ORIGIN", "library")
    monkeypatch.setenv("OPENQUERY_COLLECTIONS", "mill_book, letters ,")
    assert Settings.read().knobs == {
        "search.backend": "demo",
        "search.origin": "library",
        "search.collections": ["mill_book", "letters"],
    }
    for name, value in (
        ("OPENQUERY_ORIGIN", "attic"),
        ("OPENQUERY_SEARCH_BACKEND", "attic"),
        ("OPENQUERY_COLLECTIONS", "../x"),
        ("OPENQUERY_COLLECTIONS", ","),
        ("OPENQUERY_COLLECTIONS", ",".join(f"c{number}" for number in range(21))),
    ):
        with monkeypatch.context() as wrong:
            wrong.setenv(name, value)
            with pytest.raises(BadInput, match=name):
                Settings.read()


def test_misspelt_setting_is_refused_with_the_nearest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENQUERY_PRIVATE_COLLECTION", "canary")
    with pytest.raises(BadInput, match="OPENQUERY_PRIVATE_COLLECTION") as refused:
        Settings.read()
    assert "Did you mean OPENQUERY_PRIVATE_COLLECTIONS " in refused.value.hint
    assert "canary" not in f"{refused.value.message} {refused.value.hint}"


def test_name_that_resembles_no_setting_has_no_suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENQUERY_NOPE", "1")
    with pytest.raises(BadInput, match="OPENQUERY_NOPE") as refused:
        Settings.read()
    assert refused.value.hint == "docs/settings.md lists all settings."


@pytest.mark.parametrize(
    ("file", "line"),
    [(".env", "OPENQUERY_CHATMODEL=a"), (".streamlit/secrets.toml", 'OPENQUERY_CHATMODEL = "a"')],
)
def test_misspelt_setting_in_a_file_is_refused_with_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / file).write_text(f"{line}\n")
    with pytest.raises(BadInput, match=rf"OPENQUERY_CHATMODEL \(in {file}\)") as refused:
        Settings.read()
    assert "OPENQUERY_CHAT_MODEL" in refused.value.hint


def test_every_misspelt_setting_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENQUERY_HOST", "a")
    monkeypatch.setenv("openquery_nothing_like_it_at_all", "a")
    with pytest.raises(BadInput, match=r"OPENQUERY_HOST .*OPENQUERY_NOTHING_LIKE_IT_AT_ALL ") as refused:
        Settings.read()
    assert "OPENQUERY_HOSTS" in refused.value.hint
    assert "docs/settings.md" in refused.value.hint


def test_former_setting_name_is_refused_with_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENQUERY_OLLAMA_URL", "http://127.0.0.1:11434")
    with pytest.raises(BadInput, match="OPENQUERY_OLLAMA_URL") as refused:
        Settings.read()
    assert "OPENQUERY_OLLAMA_URL is called OLLAMA_HOST now." in refused.value.hint


@pytest.mark.parametrize("name", ["OPENQUERY_SIGNING_KEY", "OPENQUERY_TRUSTED_KEYS"])
def test_settings_of_removed_features_have_no_effect(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    before = Settings.read()
    monkeypatch.setenv(name, "a")
    assert Settings.read() == before


@pytest.mark.parametrize(
    "name",
    [
        "OPENQUERY_SERVICE_HOST",
        "OPENQUERY_SERVICE_PORT",
        "OPENQUERY_SERVICE_PORT_HTTP_API",
        "OPENQUERY_PORT",
        "OPENQUERY_PORT_8501_TCP",
        "OPENQUERY_PORT_8501_TCP_PROTO",
        "OPENQUERY_PORT_8501_TCP_PORT",
        "OPENQUERY_PORT_8501_TCP_ADDR",
        "OPENQUERY_QDRANT_SERVICE_HOST",
        "OPENQUERY_QDRANT_PORT_6333_UDP_ADDR",
        "OPENQUERY_CONTAINER_MEMORY",
    ],
)
def test_variables_of_kubernetes_and_compose_are_ignored(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "tcp://10.0.0.7:8501")
    Settings.read()


@pytest.mark.parametrize("name", ["OPENQUERY_PORT_HTTP", "OPENQUERY_PORT_8501_TCP_HOST", "OPENQUERY_SERVICE"])
def test_variables_that_kubernetes_never_sets_are_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(BadInput, match=name):
        Settings.read()
