"""Run jobs in this process, in local processes or on a Dask cluster. `jobs` has their port, `Workers`."""
