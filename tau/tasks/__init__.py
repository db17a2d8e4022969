"""Task memory: which files an investigation has looked at, and which are worth looking at next."""
