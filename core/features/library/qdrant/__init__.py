"""The `Collections` port on Qdrant: embedded, or on a server."""
