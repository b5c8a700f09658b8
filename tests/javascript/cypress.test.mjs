// The Cypress command with stand-ins for Cypress: both halves run here, and JSON alone passes between them.
import assert from "node:assert/strict";
import { it } from "node:test";
import { setupMock } from "../../clients/javascript/src/cypress-setup.js";

const tasks = {};
const commands = {};
const hooks = [];
const pass = (value) => JSON.parse(JSON.stringify(value));

globalThis.Cypress = { currentTest: { title: "a test" }, Commands: { add: (name, run) => { commands[name] = run; } } };
globalThis.cy = {
  async task(name, argument) {
    const result = await tasks[name](pass(argument));
    assert.notEqual(result, undefined, "Cypress refuses a task that returns undefined");
    return pass(result);
  },
};
globalThis.afterEach = (hook) => hooks.push(hook);
await setupMock((event, handlers) => { assert.equal(event, "task"); Object.assign(tasks, handlers); });
await import("../../clients/javascript/src/cypress.js");

it("gives an account whose methods are commands", async () => {
  const account = await commands.mockAccount();
  assert.match(account.key, /^sandbox-a-test-/);
  assert.equal(await account.reset({ records: { domains: [] } }), null);
  await account.force({ status: 503 });
  const answer = await fetch(`${account.baseUrl}/api/domains/?results_per_page=10`, { headers: account.headers });
  assert.equal(answer.status, 503);
  assert.equal((await account.journal({ status: 503 })).length, 1);
});

it("fails a test whose client made mistakes, after the test", async () => {
  const { baseUrl, headers } = await commands.mockAccount("mistakes");
  await fetch(`${baseUrl}/api/domains`, { method: "POST", headers, body: new URLSearchParams({ title: "no host" }) });
  const finished = [];
  const { task } = globalThis.cy;
  globalThis.cy.task = (...asked) => finished.push(task(...asked));
  for (const hook of hooks) hook();
  const outcomes = await Promise.allSettled(finished);
  assert.deepEqual(outcomes.map(({ status }) => status), ["fulfilled", "rejected"]);
  assert.match(outcomes[1].reason.message, /^the client made mistakes/);
});
