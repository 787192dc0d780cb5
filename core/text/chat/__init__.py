"""Reading of chat clients' messages: templates, conversations, tasks and questions."""
