"""Rankings: compared, explained, and held against what unrelated questions score."""
