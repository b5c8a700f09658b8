"""How a run's outcome is told."""
