"""What makes the mock slow, limited or wrong, only if somebody asks for it."""
