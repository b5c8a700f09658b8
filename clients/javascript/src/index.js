// A mock server and its accounts, for the tests of a client.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { start } from "./start.js";

/** @type {typeof import("./index.js").startMock} */
export async function startMock(options = {}) {
  const { baseUrl, token, stop } = await start(options);
  return mockAt(baseUrl, token, stop);
}

/** @type {typeof import("./index.js").connect} */
export function connect(baseUrl, { token = process.env.MOCK_CONTROL_TOKEN } = {}) {
  if (!/^https?:\/\/./.test(baseUrl))
    throw new TypeError(`invalid base URL "${baseUrl}": expected something like http://127.0.0.1:8000`);
  return mockAt(baseUrl.replace(/\/+$/, ""), token, async () => {});
}

/** @type {typeof import("./index.js").findMock} */
export async function findMock(options) {
  return process.env.MOCK ? connect(process.env.MOCK) : startMock(options);
}

/**
 * @param {string} baseUrl
 * @param {string | undefined} token
 * @param {() => Promise<void>} stop
 */
function mockAt(baseUrl, token, stop) {
  const url = new URL(baseUrl).origin;
  /** @type {import("./index.js").Mock} */
  const mock = {
    baseUrl,
    url,
    token,
    stop,
    [Symbol.asyncDispose]: stop,
    control: (method, path, body) => send(url, token, method, path, body),
    createAccount: async (name = "test") => {
      const account = accountOf(mock, `sandbox-${name.replace(/[^\w.-]+/g, "-").slice(0, 80)}-${randomUUID()}`);
      await account.reset();
      return account;
    },
  };
  return mock;
}

/**
 * A request to the control plane, without `fetch`, which tests and their environments replace.
 * @param {string} url
 * @param {string | undefined} token
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<any>}
 */
async function send(url, token, method, path, body) {
  const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  const { request } = url.startsWith("https:") ? https : http;
  const sent = request(`${url}/_mock/${path}`, { method, headers, agent: false });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  /** @type {http.IncomingMessage} */
  const answer = await once(sent, "response").then(([first]) => first, (cause) => {
    throw new Error(`no mock answers at ${url}: ${cause.code ?? cause.message}`, { cause });
  });
  const content = await text(answer);
  if (answer.statusCode && answer.statusCode < 300) return content && JSON.parse(content);
  const [, title = JSON.stringify(content.slice(0, 300))] = /"title":\s*("(?:[^"\\]|\\.)*")/.exec(content) ?? [];
  throw new Error(`${method} ${url}/_mock/${path} was answered with ${answer.statusCode}: ${JSON.parse(title).trim()}`);
}

/**
 * The mistakes of an account's client that are not meant, each with its request.
 * @param {import("./index.js").Account} account
 */
async function mistakes(account) {
  const entries = await account.journal({ remarks: true });
  return entries.flatMap(({ method, path, remarks }) =>
    remarks.filter((each) => !each.is_meant).map((remark) => ({ request: `${method} ${path}`, remark })));
}

/**
 * @param {import("./index.js").Mock} mock
 * @param {string} key
 */
function accountOf({ baseUrl, control }, key) {
  /** @type {string[]} */
  const meant = [];
  /** @type {import("./index.js").Account} */
  const account = {
    key,
    baseUrl,
    headers: { Authorization: `Bearer ${key}` },
    reset: async (from) => {
      await control("POST", `accounts/${key}/reset`, from ?? {});
      if (meant.length) await control("POST", `accounts/${key}/meant`, meant); // a reset forgets them
    },
    force: (answer) => control("POST", "forced", { ...answer, account: key }),
    condition: (condition, which) => account.force({ ...which, condition }),
    lost: ({ when = "after", ...which } = {}) => account.force({ ...which, prefer: `lost=${when}` }),
    delay: (seconds, which) => account.force({ ...which, prefer: `delay=${seconds}` }),
    journal: async ({ remarks, ...filters } = {}) => {
      const query = new URLSearchParams({ account: key });
      for (const [name, value] of Object.entries(filters)) query.set(name, String(value));
      if (remarks !== undefined) query.set("remarks", remarks ? "1" : "0");
      return (await control("GET", `journal?${query}`)).entries;
    },
    remarks: async () => (await mistakes(account)).map(({ remark }) => remark),
    means: async (...rules) => {
      const every = [...meant, ...(rules.length ? rules : ["*"])];
      meant.splice(0, Infinity, ...(await control("POST", `accounts/${key}/meant`, every)));
    },
    setClock: (now) => control("POST", "clock", { now, api_key: key }),
    finish: async () => {
      const found = await mistakes(account);
      await account.reset(); // what is forced on it would be in the way of others, as there is a limit
      const made = found.map(({ request, remark: { rule, what } }) => `\n  ${request}: ${rule}: ${what}`);
      if (made.length)
        throw new Error(`the client made mistakes; where they are meant, call account.means("RULE"):${made.join("")}`);
    },
  };
  return account;
}
