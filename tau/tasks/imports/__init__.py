"""What source files import, and which files of the project that is."""
