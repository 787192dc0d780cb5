"""What can be set: a person's knobs, an operator's settings, a visitor's access."""
