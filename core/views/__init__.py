"""What a page shows of a run, worked out here so that pages only draw. Pure functions of a `Run`."""
