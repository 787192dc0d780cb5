"""Where jobs run: in this process, in processes of this machine, or on a Dask cluster. `jobs` has their port, `Workers`."""
