"""The line mode: `tau chat` and `tau run`."""
