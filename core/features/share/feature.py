"""The entry of runs as files that leave."""

from core.features.share.commands.arguments import COMMANDS
from core.runtime.features import Feature

FEATURE = Feature(name="share", commands=COMMANDS)
