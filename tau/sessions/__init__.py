"""The session store: its contract, the stores tau ships, the registry, the index and search."""
