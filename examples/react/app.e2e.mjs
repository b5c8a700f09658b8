import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { expect, test as base } from "link-management-mock/playwright";

const APP = process.env.APP ?? import.meta.dirname;
const LOGO = { name: "logo.png", mimeType: "image/png", buffer: Buffer.from("89504e470d0a1a0a", "hex") };

const test = base.extend({
  site: [async ({}, use) => {
    const server = createServer(async (request, answer) => {
      const [path, type] = request.url.endsWith(".js") ? ["dist/main.js", "text/javascript"] : ["index.html", "text/html"];
      answer.setHeader("Content-Type", type).end(await readFile(`${APP}/${path}`));
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    await use(`http://localhost:${server.address().port}/`);
    server.close();
  }, { scope: "worker" }],
  app: async ({ page, account, site }, use) => {
    const open = () => page.goto(`${site}?mock=${account.baseUrl}&key=${account.key}`);
    await use(Object.assign(page, { open }));
  },
});

test("reads page after page, each with its size", async ({ app }) => {
  await app.open();
  await expect(app.getByRole("heading")).toHaveText("58 splash pages");
  for (const count of [20, 30, 40, 50, 58]) {
    await app.getByRole("button", { name: "More" }).click();
    await expect(app.getByRole("listitem")).toHaveCount(count);
  }
  await expect(app.getByRole("button", { name: "More" })).toHaveCount(0);
  await app.getByRole("button", { name: "Count the names" }).click();
  await expect(app.getByRole("status")).toHaveText(/^\d+ different names$/);
});

test("creates with a logo, and deletes", async ({ app, account }) => {
  await account.reset({ fixture: "empty" });
  await app.open();
  await expect(app.getByRole("heading")).toHaveText("0 splash pages");
  await app.getByLabel("Name").fill("Autumn sale");
  await app.getByLabel("Logo").setInputFiles(LOGO);
  await app.getByRole("button", { name: "Create" }).click();
  await expect(app.getByRole("listitem")).toContainText("Autumn sale");
  await expect(app.getByLabel("Name")).toHaveValue("");
  const create = (await account.journal({ method: "POST" })).at(-1);
  expect(create.files.logo).toEqual({ name: "logo.png", media_type: "image/png", size: 8 });
  await app.getByRole("button", { name: "Delete Autumn sale" }).click();
  await expect(app.getByRole("heading")).toHaveText("0 splash pages");
});

test("shows why a create was refused", async ({ app, account }) => {
  await account.force({ status: 400, method: "POST", body: { errors: [{ title: "This name is taken." }] } });
  await app.open();
  await app.getByLabel("Name").fill("Taken");
  await app.getByRole("button", { name: "Create" }).click();
  await expect(app.getByRole("alert")).toHaveText("This name is taken.");
});

test("tries again by itself, and offers another try while the service is down", async ({ app, account }) => {
  await account.force({ status: 503, method: "GET", times: 4, body: { errors: [{ title: "Back in a minute." }] } });
  await app.open();
  await expect(app.getByRole("alert")).toHaveText("Back in a minute.");
  await app.getByRole("button", { name: "Try again" }).click();
  await expect(app.getByRole("heading")).toHaveText("58 splash pages");
});

test("makes a page once, though the answer is lost", async ({ app, account }) => {
  await account.reset({ fixture: "empty" });
  await account.lost({ method: "POST" });
  await app.open();
  await app.getByLabel("Name").fill("Made once");
  await app.getByRole("button", { name: "Create" }).click();
  await expect(app.getByRole("heading")).toHaveText("1 splash pages");
  await expect(app.getByRole("listitem")).toContainText("Made once");
});
