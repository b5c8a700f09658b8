"""What makes the mock slow, limited or wrong, each only if somebody asks for it."""
