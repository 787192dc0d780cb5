"""Where jobs run: in this process, in processes of this machine, or on a Dask cluster. The port is `core.ports.Workers`."""
