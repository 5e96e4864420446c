"""Features as people have them, as rows of numbers."""
