"""What every HTTP server has to do: reading requests, sending answers, logging."""
