"""The yardstick of the tests that ask how time grows must tell linear work from quadratic."""

from tests.growth import LINEAR, growth


def test_linear_work_is_below_the_bound_and_quadratic_above() -> None:
    assert growth(range, sum, 20_000, 200_000) < LINEAR
    assert growth(lambda size: range(size * size // 1_000), sum, 2_000, 20_000) > LINEAR


def test_what_answers_from_memory_is_measured_all_the_same() -> None:
    remembered: dict[int, int] = {}

    def quadratic(size: int) -> int:
        if size not in remembered:
            remembered[size] = sum(range(size * size // 1_000))
        return remembered[size]

    assert growth(lambda size: size, quadratic, 2_000, 20_000) > LINEAR
