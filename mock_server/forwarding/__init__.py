"""Requests that are forwarded to a real deployment, and what is learned from its answers."""
