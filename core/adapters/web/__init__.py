"""Fetching and extraction of untrusted pages: the `Web` and `Extract` ports."""
