# Memory, threads and bytes: what knows nothing of any format.
