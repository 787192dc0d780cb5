"""The entry of runs as files that leave."""

from core.features.feature import Feature
from core.features.share.commands.arguments import COMMANDS

SHARE = Feature(name="share", commands=COMMANDS)
