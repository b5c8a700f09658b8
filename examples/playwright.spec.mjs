// Twenty tests at once against one mock: each has a page and an account of its own, so none meets another's records.
import { createServer } from "node:http";
import { expect, test as base } from "link-management-mock/playwright";

const FRONT_END = `<!doctype html><title>Pages</title><main><h1>Pages</h1><ul></ul>
<form><input name="name" aria-label="Name"><button>Add</button></form><p role="alert"></p></main>
<script type="module">
  const { mock, key } = window.settings;
  const headers = { Authorization: "Bearer " + key };
  async function show() {
    const answer = await fetch(mock + "/api/splash-pages/?results_per_page=10", { headers });
    const { data, meta } = await answer.json();
    document.querySelector("ul").replaceChildren(...data.map(({ name }) => Object.assign(document.createElement("li"), { textContent: name })));
    document.querySelector("h1").textContent = meta.total + " pages";
  }
  document.forms[0].addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = await fetch(mock + "/api/projects", { method: "POST", headers, body: new FormData(event.target) });
    const told = answer.ok ? "" : (await answer.json()).errors[0].title;
    document.querySelector("[role=alert]").textContent = told;
    await show();
  });
  await show();
</script>`;

const test = base.extend({
  site: [async ({}, use) => {
    const server = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end(FRONT_END));
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    await use(`http://localhost:${server.address().port}/`);
    server.close();
  }, { scope: "worker" }],
  frontEnd: async ({ page, account, site }, use) => {
    await page.addInitScript((settings) => { window.settings = settings; }, { mock: account.baseUrl, key: account.key });
    await page.goto(site);
    await use(page);
  },
});

for (let number = 1; number <= 18; number += 1) {
  test(`adds a page, and sees its own alone (${number})`, async ({ frontEnd }) => {
    await expect(frontEnd.getByRole("heading")).toHaveText("58 pages");
    await frontEnd.getByLabel("Name").fill(`Page of test ${number}`);
    await frontEnd.getByRole("button", { name: "Add" }).click();
    await expect(frontEnd.getByRole("heading")).toHaveText("59 pages");
    await expect(frontEnd.getByRole("listitem").first()).toHaveText(`Page of test ${number}`);
  });
}

test("shows why a page could not be added", async ({ frontEnd, account }) => {
  await account.force({ status: 429, method: "POST", body: { errors: [{ title: "Too many; wait a second." }] } });
  await frontEnd.getByLabel("Name").fill("Too many");
  await frontEnd.getByRole("button", { name: "Add" }).click();
  await expect(frontEnd.getByRole("alert")).toHaveText("Too many; wait a second.");
});

test("begins with an account that has nothing", async ({ frontEnd, account }) => {
  await account.reset({ fixture: "empty" });
  await frontEnd.reload();
  await expect(frontEnd.getByRole("heading")).toHaveText("0 pages");
});
