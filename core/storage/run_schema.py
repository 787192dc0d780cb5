"""The tables of `runs.sqlite`, as migration steps from one version of the file to the next."""

from __future__ import annotations

STEPS = (
    """CREATE TABLE IF NOT EXISTS runs (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, started TEXT NOT NULL, status TEXT NOT NULL,
        seconds REAL NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started DESC);
    CREATE TABLE IF NOT EXISTS records (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL, at REAL NOT NULL, event BLOB NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID""",
    # Files of version 1 exist with and without keepers.
    """CREATE TABLE IF NOT EXISTS keepers (run TEXT PRIMARY KEY, keeper TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE holders (run TEXT PRIMARY KEY, process TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE documents (run TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT""",
    # run_users: in whose history a run stands. run_processes: where a live run is under way. imported_runs: the
    # exported JSON that a run begins with. presets: knobs under a name; `user` is a digest, empty for everybody.
    """ALTER TABLE keepers RENAME TO run_users;
    ALTER TABLE run_users RENAME COLUMN keeper TO user;
    ALTER TABLE holders RENAME TO run_processes;
    ALTER TABLE documents RENAME TO imported_runs;
    CREATE TABLE presets (
        user TEXT NOT NULL, folded_name TEXT NOT NULL, name TEXT NOT NULL, knobs TEXT NOT NULL,
        PRIMARY KEY (user, folded_name)
    ) STRICT, WITHOUT ROWID""",
    # What the history shows of a run; NULL in runs of earlier versions until they are summarised.
    """ALTER TABLE runs ADD COLUMN knobs TEXT;
    ALTER TABLE runs ADD COLUMN pages INTEGER;
    ALTER TABLE runs ADD COLUMN passages INTEGER;
    ALTER TABLE runs ADD COLUMN sources INTEGER;
    ALTER TABLE runs ADD COLUMN prompt_tokens INTEGER;
    ALTER TABLE runs ADD COLUMN completion_tokens INTEGER;
    ALTER TABLE runs ADD COLUMN cost REAL;
    CREATE TABLE run_tags (
        run TEXT NOT NULL, folded_tag TEXT NOT NULL, tag TEXT NOT NULL,
        PRIMARY KEY (run, folded_tag)
    ) STRICT, WITHOUT ROWID""",
    # How relevant a range of a page's text is to a question. `run` has the page as it was labelled; `digest` stands for
    # the page's text, `user` is a digest, empty for everybody.
    """CREATE TABLE labels (
        user TEXT NOT NULL, folded_question TEXT NOT NULL, page TEXT NOT NULL, start INTEGER NOT NULL,
        end INTEGER NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL, grade INTEGER NOT NULL,
        question TEXT NOT NULL, run TEXT NOT NULL,
        PRIMARY KEY (user, folded_question, page, start, end)
    ) STRICT, WITHOUT ROWID""",
)

DELETE_RUN = (
    "DELETE FROM runs WHERE id = ?",
    "DELETE FROM records WHERE run = ?",
    "DELETE FROM run_users WHERE run = ?",
    "DELETE FROM run_processes WHERE run = ?",
    "DELETE FROM imported_runs WHERE run = ?",
    "DELETE FROM run_tags WHERE run = ?",
)

CLEAR_RUN = ("DELETE FROM records WHERE run = ?", "DELETE FROM run_processes WHERE run = ?")
"""What an ended run that is stored anew, as a whole, must not leave behind."""
