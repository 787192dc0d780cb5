"""Fetch and extract untrusted pages: the `Web` and `Extract` ports."""
