"""The process around the pipeline: the engine, the registry of runs, jobs, quotas, health and logs."""
