from __future__ import annotations
def check_special(layer):
    return None
