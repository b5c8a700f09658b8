"""What a mock is told: its settings, its choices for open points, and files that may come from anybody."""
