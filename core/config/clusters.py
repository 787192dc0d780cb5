"""Names and warnings of worker clusters on other machines."""

CLUSTER = "the Dask cluster"
"""The name of workers on other machines in messages of the egress policy."""
ENCRYPTED = "tls://"
"""The start of an address whose connection is encrypted and authenticated."""
UNENCRYPTED = (
    "is neither encrypted nor authenticated: who can reach it on the network can read the documents and run code on "
    "the workers and here. Use tls:// outside of a network that you trust."
)


def is_encrypted(scheduler: str) -> bool:
    """Return whether the connection to a Dask scheduler is encrypted."""
    return scheduler.startswith(ENCRYPTED)
