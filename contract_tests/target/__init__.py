"""The only way to an implementation: connections, the ledger, what was created."""
