"""What things cost: time, bytes and FLOP as closed formulas in plain Python."""
