# Functions and variables: what is observed of them, and what pahole's rules make of it.
