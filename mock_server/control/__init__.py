"""The control plane and the console: for people and tests on the machine that the mock runs on."""

from mock_server.control.plane import Control, is_loopback

__all__ = ["Control", "is_loopback"]
