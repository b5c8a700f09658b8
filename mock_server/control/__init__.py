"""The control plane and the console: for people and tests on the machine that the mock runs on."""

from mock_server.control.plane import Control

__all__ = ["Control"]
