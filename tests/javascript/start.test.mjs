// How a mock is found and started. HERE is this project's command mock-server.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, it } from "node:test";
import { connect, findMock, startMock } from "../../clients/javascript/src/index.js";

const { HERE } = process.env;
let folder;

beforeEach(() => {
  folder = process.env.PATH = mkdtempSync(join(tmpdir(), "commands-"));
  for (const name of ["MOCK", "MOCK_SERVER", "MOCK_CONTROL_TOKEN"]) delete process.env[name];
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Puts a command on the path, which notes how it was called. */
function put(name, script) {
  writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $*" >>"${folder}/calls"\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}
const calls = () => readFileSync(join(folder, "calls"), "utf8").trim().split("\n");

/** What a mock answers that is stopped then. */
async function tried(options, mock = startMock(options)) {
  await using(await mock, async (running) => {
    const { baseUrl, headers } = await running.createAccount();
    const answer = await fetch(`${baseUrl}/api/domains/?results_per_page=10`, { headers });
    assert.equal((await answer.json()).meta.total, 54);
  });
}

/** What `await using` does, which Node 20 does not know. */
async function using(mock, use) {
  try {
    await use(mock);
  } finally {
    await mock[Symbol.asyncDispose]();
  }
  await assert.rejects(fetch(mock.baseUrl));
}

it("runs the command line in MOCK_SERVER, whose words may be quoted", async () => {
  put("mock server", `exec ${HERE} "$@"`);
  process.env.MOCK_SERVER = `"${folder}/mock server" --records 0`;
  await tried({ from: "nowhere" });
  assert.match(calls()[0], /^mock server --records 0 --port 0 --ready-json$/);
});

it("keeps no more than the end of a line that does not end", async () => {
  put("mock-server", "exec /usr/bin/yes '' | /usr/bin/tr '\\n' x");
  process.env.NODE_OPTIONS = "--max-old-space-size=40"; // megabytes, for the process that watches the command
  try {
    await assert.rejects(startMock({ timeoutSeconds: 3 }), /: was not ready after 3 seconds\n {4}x*\n/);
  } finally {
    delete process.env.NODE_OPTIONS;
  }
});

it("takes a line for a line that only looks like the mock's", async () => {
  put("mock-server", `echo '{"base_url": nope'; exec ${HERE} "$@"`);
  await tried({ from: "nowhere" });
});

it("prefers a command that it is given", async () => {
  process.env.MOCK_SERVER = "false";
  await tried({ command: [HERE, "--seed", "7"] });
});

it("finds an installed mock before it asks uvx", async () => {
  put("mock-server", `exec ${HERE} "$@"`);
  put("uvx", "exit 1");
  await tried({ from: "a.whl" });
  assert.deepEqual(calls(), ["mock-server --port 0 --ready-json"]);
});

it("asks uvx, and then pipx, for what is not installed", async () => {
  put("uvx", "echo 'error: no Python' >&2; exit 2");
  put("pipx", `shift 3; shift; exec ${HERE} "$@"`);
  await tried({ from: "a.whl", args: ["--cors", "off"] });
  const options = "mock-server --port 0 --ready-json --cors off";
  assert.deepEqual(calls(), [`uvx --from a.whl ${options}`, `pipx run --spec a.whl ${options}`]);
});

it("asks for a container if an image is named, and shows its control plane a token", async () => {
  const run = `${HERE} --port 0 --ready-json | /usr/bin/tee "${folder}/ready" | /usr/bin/sed -u 's/127.0.0.1:[0-9]*/0.0.0.0:8000/g'`;
  put("podman", `case $1 in run) ${run};; port) /usr/bin/sed 's/.*"base_url": "http:..\\([0-9.:]*\\).*/\\1/;q' "${folder}/ready";; esac`);
  await using(await startMock({ image: "an-image" }), async (mock) => {
    await mock.createAccount();
    await assert.rejects(connect(mock.baseUrl, { token: "not the token that it has" }).createAccount(), /answered with 401/);
  });
  const name = /--name (link-management-mock-[\da-f-]{36}) /.exec(calls()[0])?.[1];
  assert.deepEqual(calls(), [
    `podman run --rm --name ${name} --publish 127.0.0.1::8000 --env MOCK_CONTROL_TOKEN an-image mock-server --host 0.0.0.0 --port 8000 --ready-json`,
    `podman port ${name} 8000`,
  ]);
});

it("says what was tried, what each said, and what to do", async () => {
  put("uvx", "echo one >&2; echo 'error: no such wheel' >&2; exit 3");
  await assert.rejects(startMock({ from: "a.whl", image: "an-image" }), ({ message }) => {
    const lines = message.replace(/ (--port 0|run --rm) .*:/g, ":").replace(/ run --spec .*:/, ":").split("\n");
    assert.deepEqual(lines.slice(0, -1), [
      "No mock server could be started:",
      "  mock-server: not found",
      "  uvx --from a.whl mock-server: ended with status 3",
      "    one",
      "    error: no such wheel",
      "  pipx: not found",
      "  docker: not found",
      "  podman: not found",
    ]);
    assert.match(lines.at(-1), /^Install it, or give `from`/);
    return true;
  });
});

it("tells at once that a mock has died, and with which words", async () => {
  process.env.MOCK_SERVER = "/bin/sh -c 'echo broken >&2; kill -9 $$'";
  await assert.rejects(startMock(), /^Error: No mock server could be started:\n {2}\/bin\/sh -c .*: was ended by SIGKILL\n {4}broken\nInstall it, or give/);
});

it("tries no other way when the mock itself refuses its options", async () => {
  put("mock-server", `exec ${HERE} "$@"`);
  put("uvx", "exit 1");
  const refused = startMock({ from: "a.whl", args: ["--defect", "nothing-like-it"] });
  await assert.rejects(refused, /^Error: The mock server refused to start:\n {2}mock-server .*: ended with status 2\n {4}mock-server: .*nothing-like-it/);
  assert.equal(calls().length, 1);
});

it("gives up on what is never ready", async () => {
  process.env.MOCK_SERVER = "/bin/sh -c 'echo listening; exec /usr/bin/sleep 600'";
  await assert.rejects(startMock({ timeoutSeconds: 0.5 }), /: was not ready after 0\.5 seconds\n {4}listening\n/);
});

it("refuses options that it does not know, and values of other types", async () => {
  await assert.rejects(startMock({ comand: "x" }), /^TypeError: startMock has no option "comand"; its options are args, command,/);
  await assert.rejects(startMock({ args: "--cors off" }), /^TypeError: args is "--cors off"; expected an array such as/);
  await assert.rejects(startMock({ command: [1] }), /^TypeError: command is \[1\]; expected a command line/);
  await assert.rejects(startMock({ timeoutSeconds: "soon" }), /^TypeError: timeoutSeconds is soon; expected a number above 0/);
});

it("passes a control token on that the mock finds in its environment", async () => {
  process.env.MOCK_CONTROL_TOKEN = "a-token-of-the-environment";
  await tried({ command: HERE });
});

it("uses the mock that MOCK names, and leaves it running", async () => {
  const running = await startMock({ command: HERE });
  process.env.MOCK = running.baseUrl;
  const found = await findMock();
  await found.stop();
  assert.match((await found.createAccount("left")).key, /^sandbox-left-/);
  await running.stop();
  await running.stop();
});
