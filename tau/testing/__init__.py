"""What third parties test with: the store contract and the scripted model."""
