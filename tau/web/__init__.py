"""The full-screen app in a browser: a server on this machine, and one process of the app for each tab."""
