"""The full-screen app: it renders events and decides nothing."""
