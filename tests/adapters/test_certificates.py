import ssl
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from core.adapters.certificates import trusted_certificates
from core.adapters.models.openai_client import sdk_http


@pytest.mark.parametrize("library", [lambda: httpx, sdk_http], ids=["httpx", "that of openai"])
def test_clients_share_certificates_that_verify_servers_and_names(library: Callable[[], Any]) -> None:
    context = trusted_certificates(library())
    assert trusted_certificates(library()) is context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
