"""Search backends: the `Search` port."""
