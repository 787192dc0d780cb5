"""Readers of chat replies as servers really send them: frames, messages, thoughts and tool calls."""
