"""Memory: files of markdown that hold from one conversation to the next, their history, and goals."""
