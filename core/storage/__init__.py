"""The run store, presets, migrations, locks and atomic writes."""
