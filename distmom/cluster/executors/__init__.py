"""Where units of work run: threads of this process, worker processes, a Dask cluster."""
