"""The sidebar: a control for each knob, and presets."""
