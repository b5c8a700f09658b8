"""Requests that overlap: how they are sent, what no order of them explains, and a script that sends them again."""
