"""ASGI middleware: who may call, under which name, and how large a body may be."""
