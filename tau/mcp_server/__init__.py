"""`tau mcp`: task memory, session search and `recall` for other agents, over the Model Context Protocol."""
