"""The command line: options, progress, messages, exit status. Nothing below this package prints or exits."""
