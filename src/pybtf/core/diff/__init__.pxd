# Two BTFs compared by what their types mean.
