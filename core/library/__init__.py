"""Documents of one's own: how they become excerpts in a collection, and how a run finds them there."""
