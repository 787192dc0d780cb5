"""Documents of one's own: how they become passages in a collection, and how a run finds them there."""
