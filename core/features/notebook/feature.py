"""The notebook's entry."""

from core.features.feature import Feature

NOTEBOOK = Feature(name="notebook", uses=("evaluate", "share"))
