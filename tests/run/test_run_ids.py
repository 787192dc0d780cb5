"""Ids of runs, which people copy into addresses and commands."""

from core.run.run_ids import is_link, new_run_id


def test_no_id_looks_like_an_option_or_a_link() -> None:
    ids = {new_run_id() for _ in range(2_000)}
    assert len(ids) == 2_000
    assert not any(run_id.startswith("-") or is_link(run_id) for run_id in ids)
