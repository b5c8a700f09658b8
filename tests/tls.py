"""A proxy that ends TLS in front of a server, with a certificate of an authority of its own."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import trustme


class TlsProxy:
    """Forwards what comes through TLS to a port of this machine.

    Args:
        folder: where the authority's certificate is written, as `ca.pem`, and a client's, as `client.pem`.
        client: whether a client has to show a certificate.
    """

    def __init__(self, folder: Path, *, client: bool = False) -> None:
        authority = trustme.CA()
        self.ca_bundle = folder / "ca.pem"
        authority.cert_pem.write_to_path(self.ca_bundle)
        self.client_certificate = folder / "client.pem"
        authority.issue_cert("client@example.com").private_key_and_cert_chain_pem.write_to_path(self.client_certificate)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(self._context)
        if client:
            authority.configure_trust(self._context)
            self._context.verify_mode = ssl.CERT_REQUIRED
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.to = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, resource: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with (
            suppress(OSError),
            self._context.wrap_socket(plain, server_side=True) as outer,
            socket.create_connection(("127.0.0.1", self.to)) as inner,
        ):
            back = threading.Thread(target=_pump, args=(inner, outer), daemon=True)
            back.start()
            _pump(outer, inner)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
