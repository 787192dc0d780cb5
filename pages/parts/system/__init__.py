"""The parts of the System page."""
