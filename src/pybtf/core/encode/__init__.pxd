# Unit values to one list of types, and that to bytes.
