"""The commands of `contract-tests`, a module each."""
