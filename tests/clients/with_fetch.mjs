// A client with fetch, as an application would have it: it relies on the contract alone.
// It creates a splash page and a domain, changes both, finds them in their lists, and deletes them.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";

const { API_BASE_URL, API_KEY } = process.env;
const BUSY = [429, 500, 502, 503, 504];
const TRIES = 6;

/** Sends a request; undefined if there was no answer. */
async function send(method, path, fields) {
  const body = fields && new FormData();
  for (const [name, value] of Object.entries(fields ?? {})) body.append(name, value);
  try {
    const answer = await fetch(API_BASE_URL + path, { method, body, headers: { Authorization: `Bearer ${API_KEY}` } });
    return { status: answer.status, wait: answer.headers.get("Retry-After"), text: await answer.text() };
  } catch {
    return undefined;
  }
}

/** Sends what may be sent again, until there is an answer that means something. */
async function call(method, path, fields) {
  for (let turn = 0; turn < TRIES; turn += 1) {
    const answer = await send(method, path, fields);
    if (answer && !BUSY.includes(answer.status)) return answer;
    await pause(answer?.wait ? answer.wait * 1000 : 200 * 2 ** turn);
  }
  throw new Error(`${method} ${path} failed`);
}

async function read(path) {
  const { status, text } = await call("GET", path);
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

async function list(path) {
  const records = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const { data, meta } = await read(`${path}?results_per_page=100&page=${page}`);
    records.push(...data);
    pages = meta.total_pages;
  }
  return records;
}

/** Waits until reads show what was written. */
async function until(holds) {
  const ends = Date.now() + 6000;
  while (!(await holds())) {
    assert.ok(Date.now() < ends, "what was written does not show");
    await pause(200);
  }
}

/** Creates a record once: if nobody knows whether that worked, it looks before it tries again. */
async function create(path, collection, label, fields) {
  const before = new Set((await list(collection)).map(({ id }) => id));
  for (let turn = 0; turn < TRIES; turn += 1) {
    const answer = await send("POST", path, fields);
    if (answer && answer.status < 300) return Number(JSON.parse(answer.text).data.id);
    assert.ok(!answer || BUSY.includes(answer.status), answer?.text);
    await pause(answer?.wait ? answer.wait * 1000 : 800);
    const made = (await list(collection)).find((each) => each[label] === fields[label] && !before.has(each.id));
    if (made) return made.id;
  }
  throw new Error(`POST ${path} failed`);
}

async function change(path, fields) {
  const { status, text } = await call("POST", path, fields);
  assert.ok(status < 300, text);
}

async function remove(path) {
  const { status, text } = await call("DELETE", path);
  assert.ok(status < 300 || status === 404, text); // it may be gone already
}

const page = await create("/api/projects", "/api/splash-pages/", "name", { name: "Made by fetch" });
const domain = await create("/api/domains", "/api/domains/", "host", { host: "fetch.example.com" });
await change(`/api/splash-pages/${page}`, { name: "Changed by fetch" });
await change(`/api/domains/${domain}`, { custom_index_url: "https://example.com/start" });
await until(async () => (await list("/api/splash-pages/")).some(({ id, name }) => id === page && name === "Changed by fetch"));
await until(async () => (await read(`/api/domains/${domain}`)).data.custom_index_url === "https://example.com/start");
await remove(`/api/splash-pages/${page}`);
await remove(`/api/domains/${domain}`);
await until(async () => !(await list("/api/domains/")).some(({ id }) => id === domain));
