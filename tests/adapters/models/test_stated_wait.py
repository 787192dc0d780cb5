"""How long servers ask to wait, in each form that is known of them."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.adapters.models.stated_wait import stated_wait

NOW = time.time()
RETRY_INFO = {"@type": "type.example/RetryInfo", "retryDelay": "7.837s"}


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "3"}, None, 3),
        ({"retry-after": "3s"}, None, 3),
        ({"retry-after-ms": "1500", "retry-after": "2"}, None, 1.5),
        ({"x-ms-retry-after-ms": "2000"}, None, 2),
        ({"x-ratelimit-reset-requests": "6m0s"}, None, 360),
        ({"x-ratelimit-reset-tokens": "9s", "x-ratelimit-remaining-tokens": "40"}, None, None),
        (
            {
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "9s",
                "x-ratelimit-remaining-tokens": "40",
            },
            None,
            2,
        ),
        ({"x-ratelimit-reset": str(int((NOW + 50_000) * 1000))}, None, 50_000),
        ({"x-ratelimit-reset": str(int(NOW + 50_000))}, None, 50_000),
        (
            {"x-requests-ratelimit-reset": (datetime.now(UTC) + timedelta(seconds=50_000)).isoformat()},
            None,
            50_000,
        ),
        ({}, [{"error": {"code": 429, "details": [{"quota": "x"}, RETRY_INFO]}}], 7.837),
        ({}, {"error": {"message": "Please try again in 5.289s. Visit the site."}}, 5.289),
        ({}, {"error": {"message": "Please retry after 45 seconds. Go to the site."}}, 45),
        ({}, {"detail": "Too many requests, please retry in 1m30s"}, 90),
        ({}, {"error": {"retry_after": 12}}, 12),
        ({}, {"error": "The model is loading", "estimated_time": 12.5}, 12.5),
        ({}, "Slow down: wait 2 minutes and then go on", 120),
        ({}, {"error": {"message": "Limit 15000, used 11972 in 60 s"}}, None),
        ({}, {"error": {"message": "Try again in a while"}}, None),
        ({}, {"error": {"message": "Try again in 3 bananas"}}, None),
        ({}, None, None),
    ],
)
def test_the_wait_is_found_where_the_server_states_it(
    headers: dict[str, str], body: Any, seconds: float | None
) -> None:
    assert stated_wait(headers, body) == (
        seconds and pytest.approx(seconds, abs=900 if seconds == 50_000 else 1e-9)
    )
