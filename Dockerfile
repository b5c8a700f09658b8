# Both commands, run by a user without privileges. docs/mock.md says how to use the image.
#
# A tag can be moved. To pin the base, give its digest, as `docker buildx imagetools inspect python:3.11-slim-bookworm`
# prints it: docker build --build-arg BASE=python:3.11-slim-bookworm@sha256:<digest> .
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
RUN python3 -m venv --without-pip /opt/contract
ENV PIP_PYTHON=/opt/contract/bin/python3
WORKDIR /src
COPY requirements/mock.txt requirements/suite.txt ./
RUN pip install --quiet --no-cache-dir --no-compile --no-deps --require-hashes --requirement mock.txt --requirement suite.txt
COPY . .
RUN pip install --quiet --no-compile --no-deps --no-build-isolation . && \
    pip uninstall --quiet --yes editables hatchling pathspec tomlkit trove-classifiers && \
    pip check
# The user can write no bytecode, and the base comes without that of the standard library: keep what is imported at the
# start, which halves the time that takes. Bytecode of everything would be twice as much.
RUN PYTHONPYCACHEPREFIX=/opt/contract/cache /opt/contract/bin/python3 -c "import mock_server.cli, \
    mock_server.control.shared_backend, mock_server.forwarding.gateway, \
    contract_tests.commands.run, contract_tests.exploration"

FROM ${BASE}
COPY --from=build /opt/contract /opt/contract
# HOME is where contract-tests keeps its ledger unless --ledger names another place.
ENV PATH=/opt/contract/bin:$PATH PYTHONPYCACHEPREFIX=/opt/contract/cache HOME=/tmp MOCK_HOST=0.0.0.0
WORKDIR /work
USER 1000:1000
EXPOSE 8000
# A connection, not a request: requests are in the journal, and may be delayed or forwarded.
HEALTHCHECK --interval=5s --timeout=3s \
    CMD ["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8000), 2)"]
CMD ["mock-server"]
