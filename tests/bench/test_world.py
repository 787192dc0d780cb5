"""The ideal schedule that the benchmarks compare with, and the world that keeps to it."""

import math
import time
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from bench.schedule import PAGE_TEXTS, Plan, PlannedPage, PlannedQuery, Seed, tokens
from bench.world import World

SEED = Seed(1, queries=2, results=2)


def page(number: int, latency: float, *, status: int = 200) -> PlannedPage:
    return PlannedPage(number, host=number, latency=latency, status=status)


def plan(*queries: tuple[float, float, list[PlannedPage]]) -> Plan:
    run = tuple(
        PlannedQuery(f"query {n}", out, search, tuple(pages))
        for n, (out, search, pages) in enumerate(queries)
    )
    return Plan(SEED, (run,))


def test_ideal_is_the_longest_path_not_the_slowest_sum():
    fast_query = (0.5, 0.1, [page(0, 2.0)])
    slow_query = (1.0, 1.0, [page(1, 0.2)])
    world = plan(fast_query, slow_query)
    one_call = world.embedding(PAGE_TEXTS)
    assert world.ideal(timeout=5, extraction=0.03) == pytest.approx(0.5 + 0.1 + 2.0 + 0.03 + one_call)


def test_page_is_named_by_the_first_list_holding_it():
    shared = page(0, 1.0)
    world = plan((0.5, 2.0, [shared]), (1.0, 0.2, [shared]))
    assert world.named() == {shared: pytest.approx(1.2)}
    assert world.all_named() == pytest.approx(2.5)


def test_a_dead_page_costs_its_timeout_and_no_extraction():
    world = plan((0.0, 0.5, [page(0, math.inf), page(1, 0.1)]))
    assert world.ideal(timeout=3, extraction=0.5) == pytest.approx(3.5)


def test_a_missing_page_costs_its_latency_only():
    world = plan((0.0, 0.5, [page(0, 4.0, status=404), page(1, 0.1)]))
    assert world.ideal(timeout=5, extraction=0.5) == pytest.approx(4.5)


def test_early_cut_comes_a_quiet_time_after_enough_pages():
    arrivals = [page(n, 0.1 * n) for n in range(1, 10)]
    world = plan((0.0, 1.0, [*arrivals, page(10, 4.0)]))
    cut = world.ideal_cut(timeout=5, extraction=0.0, percent=90, idle=0.3)
    assert cut == pytest.approx(1.0 + 0.9 + 0.3)


def test_the_early_cut_waits_until_every_hit_is_named():
    arrivals = [page(n, 0.1) for n in range(9)]
    world = plan((0.0, 1.0, [*arrivals, page(10, 4.0)]), (0.0, 3.0, [arrivals[0]]))
    cut = world.ideal_cut(timeout=5, extraction=0.0, percent=90, idle=0.3)
    assert cut == pytest.approx(3.0)


def test_early_cut_waits_for_the_first_readable_page():
    refusals = [page(n, 0.1, status=403) for n in range(9)]
    world = plan((0.0, 1.0, [*refusals, page(10, 4.0)]))
    full = world.ideal(timeout=5, extraction=0.02)
    assert world.ideal_cut(timeout=5, extraction=0.02, percent=90, idle=0.3) == pytest.approx(full)


def test_without_stragglers_the_early_cut_is_full_coverage():
    world = plan((0.0, 1.0, [page(n, 0.1 * n) for n in range(10)]))
    full = world.ideal(timeout=5, extraction=0.02)
    assert world.ideal_cut(timeout=5, extraction=0.02, percent=90, idle=0.3) == pytest.approx(full)


def test_equal_seeds_make_equal_worlds_and_others_differ():
    seed = Seed(3, queries=4, results=6, runs=2)
    assert Plan.of(seed) == Plan.of(seed)
    assert Plan.of(seed) != Plan.of(Seed(4, queries=4, results=6, runs=2))


def test_latencies_have_the_promised_median_and_tail():
    pages = Plan.of(Seed(1, queries=10, results=50, repeats=0)).pages
    alive = sorted(page.latency for page in pages if page.latency < math.inf)
    assert len(pages) == 500
    assert alive[len(alive) // 2] == pytest.approx(0.3, rel=0.2)
    assert alive[len(alive) * 95 // 100] == pytest.approx(2.0, rel=0.3)
    assert 0.02 < 1 - len(alive) / len(pages) < 0.08


def test_runs_of_one_world_share_no_page():
    world = Plan.of(Seed(1, queries=3, results=5, runs=4))
    named = [page.number for run in range(4) for page in world.named(run)]
    assert len(named) == len(set(named))


def test_a_reply_in_tokens_joins_to_the_text():
    text = "narrow old bridge\nquiet river\n"
    assert "".join(tokens(text)) == text


def test_world_answers_as_planned_and_counts_requests():
    with World(Seed(1, queries=1, results=3, repeats=0)) as world:
        query = world.plan.runs[0][0]
        began = time.perf_counter()
        with urlopen(f"{world.search_url}/search?q={quote(query.text)}&format=json") as reply:
            found = reply.read()
        assert time.perf_counter() - began >= query.search
        assert all(f"/page/{page.number}".encode() in found for page in query.pages)
        assert world.counts() == {"search": 1}
