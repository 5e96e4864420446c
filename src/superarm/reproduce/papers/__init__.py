"""One folder a paper: its plans, methods, claims and data."""
