"""The gate: which tool calls run, which ask a person, and which are refused."""
