"""Files that cannot lie: rows with checksums in a chain, and a lock that says how far they have come."""
