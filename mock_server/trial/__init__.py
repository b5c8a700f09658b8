"""Tries a client against every server that the specification allows, and names what the client relies on."""
