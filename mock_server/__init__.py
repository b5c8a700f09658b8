"""A stateful mock of the link-management service API.

`MockServer` serves it on a real socket, `create_app` makes a WSGI application of it; both take what `Settings` lists.
"""

import gc

_is_collected = gc.isenabled()
gc.disable()  # a quarter of the start: imports make many objects, hardly any of them garbage

from mock_server.app import create_app  # noqa: E402
from mock_server.errors import SettingsError  # noqa: E402
from mock_server.server import MockServer  # noqa: E402
from mock_server.settings.settings import Settings  # noqa: E402

if _is_collected:
    gc.freeze()  # nor need they be looked at again
    gc.enable()

__all__ = ["MockServer", "Settings", "SettingsError", "create_app"]
