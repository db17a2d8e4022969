"""tau: a full-screen terminal agent whose conversations are records on disk."""

__version__ = "0.1.0"
