"""A parser that was taken over gets hold of nothing, as far as the system can confine it."""

import sys

import pytest

from tests.hostile.attacks import ATTACKS, LANDLOCK, Attack
from tests.hostile.taken_over import REFUSED
from tests.hostile.victim import outcomes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="other systems offer less, and workers run there as before"
    ),
]


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return outcomes(tmp_path_factory.mktemp("confined"))


@pytest.fixture(scope="module")
def without_landlock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """As on a kernel without Landlock, and before 6.12 as far as signals are concerned."""
    return outcomes(tmp_path_factory.mktemp("without_landlock"), "--without-landlock")


@pytest.fixture(scope="module")
def unconfined(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return outcomes(tmp_path_factory.mktemp("unconfined"), "--unconfined")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_parser_that_was_taken_over_is_refused(confined: dict[str, str], attack: Attack) -> None:
    assert not confined["fallback"]
    if attack.needs not in confined["in_force"]:
        pytest.skip(f"this system lacks it: {confined['missing']}")
    assert confined[attack.name].startswith(REFUSED)


@pytest.mark.parametrize(
    "attack", [attack for attack in ATTACKS if attack.needs != LANDLOCK], ids=lambda attack: attack.name
)
def test_a_kernel_without_landlock_refuses_all_but_reading(
    without_landlock: dict[str, str], attack: Attack
) -> None:
    assert "(Landlock)" in without_landlock["missing"]
    if attack.needs not in without_landlock["in_force"]:
        pytest.skip(f"this system lacks it: {without_landlock['missing']}")
    assert without_landlock[attack.name].startswith(REFUSED)


@pytest.mark.parametrize(
    "attack", [attack for attack in ATTACKS if not attack.everywhere], ids=lambda attack: attack.name
)
def test_the_same_attack_succeeds_where_nothing_confines(unconfined: dict[str, str], attack: Attack) -> None:
    """Otherwise a refusal would mean nothing."""
    assert unconfined[attack.name].startswith("got: ")


def test_what_is_in_force_is_reported(confined: dict[str, str]) -> None:
    assert "no inherited descriptors" in confined["in_force"]
    for words in ("memory hidden", "no privileges", "(Landlock)", "(seccomp)"):
        assert (words in confined["in_force"]) is not (words in confined["missing"])
