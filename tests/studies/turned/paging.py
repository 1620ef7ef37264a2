"""Inputs under which the claims about paging fare otherwise."""

from hwlab.studies.trials.paging import CHATS

# claim: inputs under which its verdict is another
TURNED = {
    "C118": (lambda: {"shared": 255, "block_tokens": 256}, "corrected"),
    "C119": (lambda: {"longest": 8192}, "corrected"),
    "C120": (lambda: {"traffics": (CHATS,)}, "confirmed"),
}
