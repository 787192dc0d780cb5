"""Describe failures of a connection, independent of the library that raised them."""

import socket
import ssl
from collections.abc import Iterator

_WORDS = {
    "ConnectError": "could not connect",
    "ConnectTimeout": "could not connect in time",
    "ReadError": "the connection broke off",
    "WriteError": "the connection broke off",
    "CloseError": "the connection broke off",
    "RemoteProtocolError": "a malformed reply",
    "LocalProtocolError": "a malformed request",
    "ProxyError": "the proxy did not let it through",
    "UnsupportedProtocol": "no http address",
    "PoolTimeout": "too many connections at once",
}
"""By exception names that httpx, httpcore and similar libraries share."""


def network_failure(error: BaseException) -> str:
    """Describe why there was no complete reply. The text is for a person and never the name of a class."""
    causes = tuple(_causes(error))
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError():
                return f"the certificate is not valid: {cause.verify_message}"
            case ssl.SSLError():
                return f"no secure connection: {cause.reason or 'TLS error'}"
            case socket.gaierror():
                return "could not connect: no such host is known"
            case ConnectionRefusedError():
                return "could not connect: connection refused"
    names = (kind.__name__ for cause in causes for kind in type(cause).__mro__)
    return next((_WORDS[name] for name in names if name in _WORDS), "the connection failed")


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
