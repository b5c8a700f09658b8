# Both commands, run by a user without privileges. docs/mock.md says how to use the image.
#
# A tag can be moved. To pin the base, give its digest, as `docker buildx imagetools inspect python:3.11-slim-bookworm`
# prints it: docker build --build-arg BASE=python:3.11-slim-bookworm@sha256:<digest> .
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
RUN python3 -m venv /opt/contract
WORKDIR /src
COPY requirements/mock.txt requirements/suite.txt ./
RUN /opt/contract/bin/pip install --quiet --no-cache-dir --no-deps --require-hashes \
    --requirement mock.txt --requirement suite.txt
COPY . .
RUN /opt/contract/bin/pip install --quiet --no-deps --no-build-isolation . && \
    /opt/contract/bin/pip uninstall --quiet --yes editables hatchling pathspec tomlkit trove-classifiers setuptools && \
    /opt/contract/bin/pip check && \
    /opt/contract/bin/pip uninstall --quiet --yes pip

FROM ${BASE}
COPY --from=build /opt/contract /opt/contract
# HOME is where contract-tests keeps its ledger unless --ledger names another place.
ENV PATH=/opt/contract/bin:$PATH HOME=/tmp MOCK_HOST=0.0.0.0
WORKDIR /work
USER 1000:1000
EXPOSE 8000
# A connection, not a request: requests are in the journal, and may be delayed or forwarded.
HEALTHCHECK --interval=5s --timeout=3s \
    CMD ["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8000), 2)"]
CMD ["mock-server"]
