"""The entry of watched questions."""

from core.features.feature import Feature
from core.features.watch.arguments import COMMANDS

WATCH = Feature(name="watch", commands=COMMANDS)
