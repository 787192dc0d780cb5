"""The MCP server: questions, runs and their explanations as tools of another model."""
