"""What an agent keeps on disk: its state, and the log of all that happened."""
