"""The web client for addresses that strangers chose: the `Web` and `Extract` ports."""
