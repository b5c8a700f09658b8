// Plain fetch, with Node's own test runner: MOCK=http://127.0.0.1:8000 node --test examples/
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

const MOCK = process.env.MOCK ?? "http://127.0.0.1:8000";

/** Speaks to the mock as an account that nobody else has. */
function account() {
  const key = `sandbox-${randomUUID()}`;
  return async (method, path, { fields, headers } = {}) => {
    let body;
    if (fields) {
      body = new FormData(); // fetch itself sets the Content-Type, with its boundary
      for (const [name, value] of Object.entries(fields)) body.append(name, value);
    }
    return fetch(MOCK + path, { method, body, headers: { Authorization: `Bearer ${key}`, ...headers } });
  };
}

describe("a client of the API", { concurrency: true }, () => {
  it("creates with a file, updates and deletes", async () => {
    const call = account();
    const logo = new File([Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10])], "logo.png", { type: "image/png" });
    const made = await call("POST", "/api/projects", { fields: { name: "Autumn sale", logo } });
    const { id } = (await made.json()).data;
    await call("POST", `/api/splash-pages/${id}`, { fields: { name: "Winter sale" } });
    const read = await call("GET", `/api/splash-pages/${id}`);
    assert.equal((await read.json()).data.name, "Winter sale");
    const deleted = await call("DELETE", `/api/splash-pages/${id}`);
    assert.equal(await deleted.text(), "");
    assert.equal((await call("GET", `/api/splash-pages/${id}`)).status, 404);
  });

  it("reads all pages, and sends the page size each time", async () => {
    const call = account();
    const ids = [];
    for (let page = 1, pages = 1; page <= pages; page += 1) {
      const answer = await (await call("GET", `/api/domains/?results_per_page=10&page=${page}`)).json();
      ids.push(...answer.data.map((domain) => domain.id));
      pages = answer.meta.total_pages;
    }
    assert.equal(new Set(ids).size, 54);
  });

  it("is told why it was refused", async () => {
    const refused = await account()("POST", "/api/projects", { fields: { title: "No name" } });
    const { errors } = await refused.json();
    assert.equal(errors[0].rule, "forms.name-required");
  });

  it("meets a lost answer, and looks before it tries again", async () => {
    const call = account();
    const lost = { fields: { host: "lost.example.com" }, headers: { Prefer: "lost=after" } };
    await assert.rejects(async () => (await call("POST", "/api/domains", lost)).text());
    const { data } = await (await call("GET", "/api/domains/?results_per_page=10")).json();
    assert.equal(data[0].host, "lost.example.com");
  });
});
