"""Runs the command `mock-server` as `python -m mock_server`."""

from mock_server.cli import main

main()
