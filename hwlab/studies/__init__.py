"""What follows: claims recomputed, predictions beside measurements."""
