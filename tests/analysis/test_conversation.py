from core.analysis.conversation import latest_turns, thread
from core.run.state import RunStatus
from core.storage.run_summaries import RunSummary


def _turn(run_id: str, follows: str = "", conversation: str = "a", started: str = "") -> RunSummary:
    return RunSummary(
        id=run_id,
        question="?",
        started=started or run_id,
        status=RunStatus.DONE,
        seconds=1.0,
        conversation=conversation,
        follows=follows,
    )


A, B, C, OTHER_B = _turn("a"), _turn("b", "a"), _turn("c", "b"), _turn("bb", "a", started="z")


def test_thread_has_the_earlier_turns_and_the_newest_after() -> None:
    turns = (OTHER_B, C, B, A)
    assert thread(turns, "c") == (A, B, C)
    assert thread(turns, "b") == (A, B, C)
    assert thread(turns, "bb") == (A, OTHER_B)
    assert thread(turns, "a") == (A, OTHER_B), "of two that follow one, the newer"
    assert thread((C, B), "c") == (B, C), "the first was deleted"
    assert thread(turns, "unknown") == ()


def test_a_thread_that_goes_in_a_circle_ends() -> None:
    turns = (_turn("a", "b"), _turn("b", "a"))
    assert len(thread(turns, "a")) == 2


def test_a_thread_of_five_hundred_turns() -> None:
    turns = [_turn(f"{number:03}", f"{number - 1:03}" if number else "") for number in range(500)]
    assert thread(turns[::-1], "250") == tuple(turns)


def test_the_history_has_one_entry_a_conversation() -> None:
    single = _turn("s", conversation="s", started="bc")
    assert latest_turns((OTHER_B, C, single, B, A)) == (OTHER_B, single)
