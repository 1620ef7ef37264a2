"""How it is practised: the question, the answer by code, the known mistakes."""
