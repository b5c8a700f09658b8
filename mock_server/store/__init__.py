"""What the mock holds: accounts, their records and files, and where they come from."""
