"""Reports of deep runs: events of plans and sections."""
