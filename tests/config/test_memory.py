"""Memory is shared out by what the machine, or the container, has."""

from pathlib import Path

import pytest

from core.config.memory import WORKER_BOUNDS, machine_memory, memory_budget

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/\n", {"memory.max": "536870912\n"}, 536_870_912),
        ("0::/a/b\n", {"a/memory.max": "300000000", "a/b/memory.max": "max"}, 300_000_000),
        ("0::/a/b\n", {"a/memory.max": "300000000", "a/b/memory.max": "200000000"}, 200_000_000),
        ("0::/of/the/host\n", {"memory.max": "536870912\n"}, 536_870_912),
        ("4:memory:/a\n1:cpu:/\n", {"memory/a/memory.limit_in_bytes": "400000000"}, 400_000_000),
        ("4:cpu,memory:/x\n", {"memory/memory.limit_in_bytes": "400000000"}, 400_000_000),
        ("1:cpu:/\n", {"memory/memory.limit_in_bytes": "1000"}, None),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {"memory.max": "9223372036854771712"}, None),
        ("", {}, None),
    ],
)
def test_the_limit_of_a_container_counts(
    tmp_path: Path, groups: str, limits: dict[str, str], expected: int | None
) -> None:
    files = {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": text for name, text in limits.items()}}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    machine = machine_memory(tmp_path / "a folder without control groups")
    assert machine > 100_000_000
    assert machine_memory(tmp_path) == (machine if expected is None else min(expected, machine))


@pytest.mark.parametrize("gigabytes", [0.25, 0.5, 1, 2, 4, 16, 256])
@pytest.mark.parametrize("wanted", [1, 2, 8, 64])
def test_workers_and_files_stay_within_half_of_the_machine(gigabytes: float, wanted: int) -> None:
    budget = memory_budget(0, wanted, int(gigabytes * GB))
    least, most = WORKER_BOUNDS
    assert 1 <= budget.workers <= wanted
    assert least <= budget.worker_megabytes <= most
    together = (budget.workers * budget.worker_megabytes << 20) + 2 * budget.files
    assert together <= gigabytes * GB / 2 or budget.workers == 1
    assert budget.files <= 500_000_000


def test_small_machine_has_fewer_workers_unless_set() -> None:
    assert memory_budget(0, 8, 1 * GB).workers < 8
    assert memory_budget(8_000, 8, 1 * GB).workers == 8
    assert memory_budget(0, 2, 16 * GB).worker_megabytes == WORKER_BOUNDS[1]
