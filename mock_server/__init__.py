"""A stateful mock of the link-management service API.

`MockServer` serves it on a real socket, `create_app` makes a WSGI application of it; both take what `Settings` lists.
"""

from mock_server.app import create_app
from mock_server.errors import SettingsError
from mock_server.server import MockServer
from mock_server.settings import Settings

__all__ = ["MockServer", "Settings", "SettingsError", "create_app"]
