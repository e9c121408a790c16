# Which repeats may be left out of the list, because de-duplication would remove them.
