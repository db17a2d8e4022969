"""One conversation: run a turn, cancel it, switch sessions, slash commands."""
