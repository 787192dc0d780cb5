"""The entry of watched questions."""

from core.features.watch.arguments import COMMANDS
from core.runtime.features import Feature

FEATURE = Feature(name="watch", commands=COMMANDS)
