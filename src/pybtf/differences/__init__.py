"""What changed between two BTFs, by meaning: types by kind and name, functions by prototype."""
