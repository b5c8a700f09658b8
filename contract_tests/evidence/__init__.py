"""What a server was asked and answered, how a visit keeps it, and what may be shown of it."""
