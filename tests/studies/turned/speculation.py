"""Inputs under which the claims about speculative decoding fare otherwise."""

# claim: inputs under which its verdict is another
TURNED = {
    "C127": (lambda: {"draft_memory": 0, "guesses": 1, "text": "abcdefghijklmnopqrstuvwxyz" * 3}, "corrected"),
    "C128": (lambda: {"draft_cost": 0.001}, "confirmed"),
    "C331": (lambda: {"memories": (3,)}, "confirmed"),
}
