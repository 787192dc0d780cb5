"""The process around the pipeline: engine, registry, jobs, quotas, health and logs."""
