"""The choices that the specification leaves to an implementation."""
