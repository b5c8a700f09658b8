"""The latest requests, and remarks about them."""
