"""Requests that overlap: how they are sent, and what no order of them explains."""
