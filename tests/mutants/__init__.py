"""Servers of other people's habits."""
