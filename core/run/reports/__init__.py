"""Reports of deep runs: the events of a plan and its sections, and the sections folded from them."""
