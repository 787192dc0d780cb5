"""Readers of chat replies as real servers send them: frames, messages, thoughts and tool calls."""
