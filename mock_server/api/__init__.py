"""The contract's operations: from a parsed request to the answer that represents the record."""
