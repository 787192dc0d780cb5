"""The notebook's entry."""

from core.runtime.features import Feature

FEATURE = Feature(name="notebook", uses=("evaluate", "share"))
