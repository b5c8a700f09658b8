"""The commands of `contract-tests`, one module each."""
