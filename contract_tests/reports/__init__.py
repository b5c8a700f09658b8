"""How a run's outcome is reported."""
