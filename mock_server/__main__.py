"""`python -m mock_server` is the command `mock-server`."""

from mock_server.cli import main

main()
