"""Work beside runs: drafts of follow-up questions, rankings under other knobs, answers that no run keeps."""
