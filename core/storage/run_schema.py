"""The tables of `runs.sqlite`."""

from core.storage.migrations import Schema

RUNS = "runs.sqlite"
"""The name of the file in the data folder."""

# runs: `conversation` is the id of the first run of a conversation, and `follows` the id of the previous run. Both are
# empty in rows of version 5. `model_usage` is JSON, and NULL in rows of versions 5 and 6. `searched` has the question,
# the answer and the titles of the sources in lower case, and is NULL for a live run and in rows of versions 5 to 8.
# run_users: the user whose history has a run. run_processes: the process of a live run. imported_runs: the exported JSON that a run begins with.
# presets and labels: `user` is a digest, empty for everybody. labels: the relevance of a text range to a question.
# `run` has the page as it was labelled, `digest` identifies the page's text. run_links: `digest` identifies a link to
# the run. conversation_titles: the title that somebody gave to a conversation.
SCHEMA = Schema(
    version=5,
    tables="""CREATE TABLE runs (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, started TEXT NOT NULL, status TEXT NOT NULL,
        seconds REAL NOT NULL, knobs TEXT, pages INTEGER, passages INTEGER, sources INTEGER,
        prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL
    ) STRICT;
    CREATE INDEX runs_by_start ON runs (started DESC);
    CREATE TABLE records (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL, at REAL NOT NULL, event BLOB NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE run_users (run TEXT PRIMARY KEY, user TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE run_processes (run TEXT PRIMARY KEY, process TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE imported_runs (run TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT;
    CREATE TABLE run_tags (
        run TEXT NOT NULL, folded_tag TEXT NOT NULL, tag TEXT NOT NULL,
        PRIMARY KEY (run, folded_tag)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE presets (
        user TEXT NOT NULL, folded_name TEXT NOT NULL, name TEXT NOT NULL, knobs TEXT NOT NULL,
        PRIMARY KEY (user, folded_name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE labels (
        user TEXT NOT NULL, folded_question TEXT NOT NULL, page TEXT NOT NULL, start INTEGER NOT NULL,
        end INTEGER NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL, grade INTEGER NOT NULL,
        question TEXT NOT NULL, run TEXT NOT NULL,
        PRIMARY KEY (user, folded_question, page, start, end)
    ) STRICT, WITHOUT ROWID""",
    steps=(
        """ALTER TABLE runs ADD COLUMN conversation TEXT;
        ALTER TABLE runs ADD COLUMN follows TEXT;
        CREATE INDEX runs_by_conversation ON runs (conversation)""",
        "ALTER TABLE runs ADD COLUMN model_usage TEXT",
        """CREATE TABLE run_links (digest TEXT PRIMARY KEY, run TEXT NOT NULL, made TEXT NOT NULL) STRICT, WITHOUT ROWID;
        CREATE INDEX run_links_by_run ON run_links (run)""",
        "ALTER TABLE runs ADD COLUMN searched TEXT",
    ),
    added="""CREATE TABLE IF NOT EXISTS conversation_titles (
        conversation TEXT PRIMARY KEY, title TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
)

DELETE_RUN = (
    """DELETE FROM conversation_titles WHERE conversation =
    (SELECT coalesce(conversation, id) FROM runs AS deleted WHERE id = ?1 AND NOT EXISTS
    (SELECT 1 FROM runs WHERE conversation = deleted.conversation AND id <> ?1))""",
    "DELETE FROM runs WHERE id = ?",
    "DELETE FROM records WHERE run = ?",
    "DELETE FROM run_users WHERE run = ?",
    "DELETE FROM run_processes WHERE run = ?",
    "DELETE FROM imported_runs WHERE run = ?",
    "DELETE FROM run_tags WHERE run = ?",
    "DELETE FROM run_links WHERE run = ?",
)

CLEAR_RUN = (
    "DELETE FROM records WHERE run = ?",
    "DELETE FROM run_processes WHERE run = ?",
    "DELETE FROM imported_runs WHERE run = ?",
)
"""Statements that remove the parts of an ended run before it is stored again as a whole."""
