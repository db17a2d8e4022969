"""tau.toml read into frozen, typed settings; every error names file, line and key."""
