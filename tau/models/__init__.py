"""A model role of the configuration made into a strands model; one lazily imported module a provider."""
