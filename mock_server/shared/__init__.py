"""What several processes share in Redis, so that they behave as one mock."""
