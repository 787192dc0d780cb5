"""The features: each serves one purpose beside the answer. `core.runtime.features` lists them."""
