# De-duplication of a list of types, wherever it comes from.
