"""Load ONNX Runtime so that it sends and stores nothing."""

import os
from typing import Any


def onnx_runtime() -> Any:
    """Import ONNX Runtime with its telemetry off. The import is slow, and not every command embeds."""
    # From 1.29 on, the package's builds for Linux and macOS send usage to Microsoft, with an identifier that they store
    # on disk. They read this variable when they are loaded, and then do neither.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
