"""Methods: how a run is steered, as compositions of the stages."""
