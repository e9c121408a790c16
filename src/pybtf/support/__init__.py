"""Classes of data, threads, times, the start and end of a process: what knows nothing of BTF, and imports little."""
