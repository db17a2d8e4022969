"""The only place that builds a strands agent: the stream, the recorder, repair."""
