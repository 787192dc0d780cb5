"""How a run is handed on and shown again: its export as files, and its replay."""
