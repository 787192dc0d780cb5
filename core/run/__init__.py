"""A run as data: its events, the state they fold into, its JSON."""
