"""A stateful mock of the link-management service API.

`MockServer` serves it on a real socket, `create_app` makes a WSGI application of it; both take what `Settings` lists.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mock_server.app import create_app
    from mock_server.errors import SettingsError
    from mock_server.server import MockServer
    from mock_server.settings.settings import Settings

__all__ = ["MockServer", "Settings", "SettingsError", "create_app"]
MODULES = {"MockServer": "server", "Settings": "settings.settings", "SettingsError": "errors", "create_app": "app"}


def __getattr__(name: str) -> Any:
    """What the package offers, imported once it is used: the command can be interrupted while it loads."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
