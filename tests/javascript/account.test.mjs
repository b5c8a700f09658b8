// An account of a mock, as tests of clients use it. MOCK names the mock.
import assert from "node:assert/strict";
import { it } from "node:test";
import { connect, findMock } from "../../clients/javascript/src/index.js";

const mock = await findMock();
const DOMAINS = "/api/domains/?results_per_page=10";

/** @param {Awaited<ReturnType<typeof mock.createAccount>>} account */
const read = (account, path = DOMAINS) => fetch(account.baseUrl + path, { headers: account.headers });
const create = ({ baseUrl, headers }, fields) => {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  return fetch(`${baseUrl}/api/domains`, { method: "POST", headers, body });
};
const hosts = async (account) => (await (await read(account)).json()).data.map(({ host }) => host);

it("is an account that nobody else has, and whose key shows its name", async () => {
  const [one, other] = await Promise.all([mock.createAccount("ä test [1/2]"), mock.createAccount()]);
  await one.reset({ fixture: "empty" });
  assert.match(one.key, /^sandbox--test-1-2--[\da-f-]{36}$/);
  assert.deepEqual(await hosts(one), []);
  assert.equal((await hosts(other)).length, 10);
});

it("starts again with records, and as it began", async () => {
  const account = await mock.createAccount();
  await account.reset({ records: { domains: [{ host: "go.example.com", is_enabled: false }] } });
  assert.deepEqual(await hosts(account), ["go.example.com"]);
  await account.reset();
  assert.equal((await hosts(account)).length, 10);
});

it("forces an answer on matching requests of its own alone", async () => {
  const [account, other] = await Promise.all([mock.createAccount(), mock.createAccount()]);
  const forced = await account.force({ status: 429, headers: { "Retry-After": "2" }, method: "GET", times: 2 });
  assert.equal(forced.times, 2);
  assert.equal((await create(account, { host: "go.example.com" })).status, 201);
  assert.equal((await read(account)).headers.get("Retry-After"), "2");
  assert.equal((await read(other)).status, 200);
  assert.deepEqual([(await read(account)).status, (await read(account)).status], [429, 200]);
});

it("puts a condition around some of its requests", async () => {
  const account = await mock.createAccount();
  const { condition, times, every } = await account.condition("latency=0.01", { times: 3, every: 2 });
  assert.deepEqual({ condition, times, every }, { condition: "latency=0.01", times: 3, every: 2 });
});

it("loses an answer after the request is carried out, or before", async () => {
  const account = await mock.createAccount();
  for (const when of ["after", "before"]) {
    await account.lost({ when, method: "POST" });
    await assert.rejects(async () => (await create(account, { host: `${when}.example.com` })).text());
  }
  assert.equal((await hosts(account))[0], "after.example.com");
});

it("delays an answer", async () => {
  const account = await mock.createAccount();
  await account.delay(0.2, { path: "/api/domains/*" });
  await (await read(account)).text();
  const [{ forced, milliseconds }] = await account.journal();
  assert.equal(forced, "delay=0.2");
  assert.ok(milliseconds >= 200, `${milliseconds}`);
});

it("finds its requests", async () => {
  const account = await mock.createAccount();
  await create(account, { host: "go.example.com" });
  await read(account);
  await read(account, "/api/domains/999");
  assert.deepEqual((await account.journal({ method: "POST" })).map(({ fields }) => fields), [{ host: "go.example.com" }]);
  assert.deepEqual((await account.journal({ status: 404 })).map(({ path }) => path), ["/api/domains/999"]);
  const [first] = await account.journal();
  assert.equal((await account.journal({ after: first.number, path: "/api/*" })).length, 2);
  assert.equal((await account.journal({ remarks: false })).length + (await account.journal({ remarks: true })).length, 3);
});

it("tells the mistakes that are not meant, also after it has started again", async () => {
  const account = await mock.createAccount();
  await account.means("forms.host-required");
  await account.means("client.polling");
  await account.reset({ fixture: "empty" });
  await create(account, { title: "no host" });
  assert.deepEqual((await account.remarks()).map(({ rule }) => rule), ["client.unknown-field"]);
  await assert.rejects(account.finish(), /^Error: the client made mistakes; .*account\.means\("RULE"\):\n {2}POST \/api\/domains: client\.unknown-field: [^\n]+$/s);
});

it("means every mistake if no rule is named, and finishes without what was forced", async () => {
  const account = await mock.createAccount();
  await account.means();
  await create(account, { title: "no host" });
  await account.condition("latency=0.01");
  await account.finish();
  const forced = await mock.control("GET", "forced");
  assert.deepEqual(forced.filter((each) => each.account === account.key), []);
});

it("dates what is written by its own clock", async () => {
  const account = await mock.createAccount();
  await account.setClock("2030-01-02 03:04:05");
  const { data } = await (await create(account, { host: "go.example.com" })).json();
  const made = (await (await read(account, `/api/domains/${data.id}`)).json()).data;
  assert.equal(made.datetime, "2030-01-02 03:04:06");
});

it("is controlled without the fetch that a test replaces", async (t) => {
  t.mock.method(globalThis, "fetch", () => assert.fail("fetch was called"));
  assert.deepEqual(await (await mock.createAccount()).remarks(), []);
});

it("says what the mock refuses, and why", async () => {
  const account = await mock.createAccount();
  await assert.rejects(account.force({ status: 99 }), /^Error: POST .*\/_mock\/forced was answered with 400: .*"status.* is 99; expected a number from 200/);
  await assert.rejects(account.means("forms.nothing"), /no remark is about/);
});

it("says where no mock answers", async () => {
  const gone = connect("http://127.0.0.1:9/");
  assert.equal(gone.baseUrl, "http://127.0.0.1:9");
  await assert.rejects(gone.createAccount(), /^Error: no mock answers at http:\/\/127\.0\.0\.1:9: ECONNREFUSED$/);
  assert.throws(() => connect("localhost:8000"), /^TypeError: invalid base URL "localhost:8000": expected something like/);
});
