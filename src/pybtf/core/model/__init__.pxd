# What passes from step to step: the structures between the folders.
