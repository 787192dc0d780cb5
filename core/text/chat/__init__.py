"""Messages of chat clients read: templates, conversations in them, tasks, and what is asked."""
