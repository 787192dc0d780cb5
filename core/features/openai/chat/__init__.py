"""Chat completions over runs, and the list of models."""
