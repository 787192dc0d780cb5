"""Questions asked on a schedule, with changes beyond their own noise."""
