// Finds a mock server and starts it.
import { execFileSync, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const GUARD = fileURLToPath(new URL("guard.js", import.meta.url));
const OPTIONS = ["args", "command", "from", "image", "timeoutSeconds"];
const WORD = /"[^"]*"|'[^']*'|[^\s"']+/g;
const PORT = "8000"; // in a container
const ADVICE =
  "Install it, or give `from` (a wheel or a Git URL, for uvx or pipx) or `image`, or its command line in MOCK_SERVER.";

/**
 * @typedef {{ready?: {base_url: string}, why?: string, said?: string}} Told
 * @typedef {{command: string[], container?: string}} Way
 */

/**
 * Starts a mock server in the first way that works.
 * @param {import("./index.js").StartOptions} options
 * @returns {Promise<{baseUrl: string, token?: string, stop: () => Promise<void>}>}
 */
export async function start(options) {
  check(options);
  const failures = [];
  for (const { command, container } of waysTo(options)) {
    const token = process.env.MOCK_CONTROL_TOKEN ?? (container && randomUUID());
    const { told, stop } = await run(command, token, options.timeoutSeconds ?? 120);
    if (told.ready) {
      const { base_url } = told.ready;
      return { baseUrl: container ? published(command[0], container, base_url) : base_url, token, stop };
    }
    await stop();
    const said = (told.said ?? "").split("\n").slice(-8).join("\n    ");
    failures.push(`  ${command.join(" ")}: ${told.why}${said && `\n    ${said}`}`);
    if (/^mock-server: /m.test(said)) throw new Error(`The mock server refused to start:\n${failures.at(-1)}`);
  }
  throw new Error(`No mock server could be started:\n${failures.join("\n")}\n${ADVICE}`);
}

/** @param {import("./index.js").StartOptions} options */
function check(options) {
  const { args = [], command = [], timeoutSeconds = 120 } = options;
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown) throw new TypeError(`startMock has no option "${unknown}"; its options are ${OPTIONS.join(", ")}`);
  if (!isTexts(args))
    throw new TypeError(`args is ${JSON.stringify(args)}; expected an array such as ["--records", "90"]`);
  if (typeof command !== "string" && !isTexts(command))
    throw new TypeError(`command is ${JSON.stringify(command)}; expected a command line, or an array of its words`);
  if (!(timeoutSeconds > 0)) throw new TypeError(`timeoutSeconds is ${timeoutSeconds}; expected a number above 0`);
}

/** @param {unknown} value */
const isTexts = (value) => Array.isArray(value) && value.every((each) => typeof each === "string");

/**
 * @param {import("./index.js").StartOptions} options
 * @returns {Way[]}
 */
function waysTo({ args = [], command = process.env.MOCK_SERVER, from, image }) {
  const words = typeof command === "string" ? wordsOf(command) : command;
  const options = ["--port", "0", "--ready-json", ...args];
  if (words?.length) return [{ command: [...words, ...options] }];
  const ways = [["mock-server", ...options]];
  if (from) ways.push(["uvx", "--from", from, ...ways[0]], ["pipx", "run", "--spec", from, ...ways[0]]);
  return [...ways.map((command) => ({ command })), ...(image ? containersOf(image, args) : [])];
}

/** @param {string} line */
const wordsOf = (line) => (line.match(WORD) ?? []).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));

/**
 * A container's mock listens to all that its network brings, so its control plane asks for a token.
 * @param {string} image
 * @param {string[]} args
 */
function containersOf(image, args) {
  const container = `link-management-mock-${randomUUID()}`;
  const options = ["--rm", "--name", container, "--publish", `127.0.0.1::${PORT}`, "--env", "MOCK_CONTROL_TOKEN"];
  const inside = ["mock-server", "--host", "0.0.0.0", "--port", PORT, "--ready-json", ...args];
  return ["docker", "podman"].map((engine) => ({ command: [engine, "run", ...options, image, ...inside], container }));
}

/**
 * Where the mock in a container answers on this machine.
 * @param {string} engine
 * @param {string} container
 * @param {string} baseUrl
 */
function published(engine, container, baseUrl) {
  const [address] = execFileSync(engine, ["port", container, PORT], { encoding: "utf8" }).split("\n");
  return `http://${address}${new URL(baseUrl).pathname}`.replace(/\/$/, "");
}

/**
 * Runs a command until it is ready or has failed.
 * @param {string[]} command
 * @param {string | undefined} token
 * @param {number} seconds
 */
async function run(command, token, seconds) {
  const env = { ...process.env, ...(token && { MOCK_CONTROL_TOKEN: token }) };
  const guard = fork(GUARD, [String(seconds), ...command], { detached: true, env, execArgv: [], stdio: "ignore" });
  const ended = once(guard, "exit");
  const stop = async () => {
    guard.ref();
    if (guard.connected) guard.disconnect();
    await ended;
  };
  /** @type {Told[]} */
  const [told] = await Promise.race([once(guard, "message"), ended.then(() => [{ why: "its guard was ended" }])]);
  guard.unref(); // who forgets to stop the mock can end all the same
  guard.channel?.unref();
  return { told, stop };
}
