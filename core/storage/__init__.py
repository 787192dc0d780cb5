"""The run store, presets, migrations, process locks and atomic writes."""
