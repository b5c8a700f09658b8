// Playwright's `test` with an account of a mock for each test.
import { writeFile } from "node:fs/promises";
import { test as base } from "@playwright/test";
import { findMock } from "./index.js";

export { expect } from "@playwright/test";

/**
 * @typedef {import("./playwright.js").MockFixtures} MockFixtures
 * @typedef {import("./playwright.js").MockWorkerFixtures} MockWorkerFixtures
 * @type {import("@playwright/test").Fixtures<MockFixtures, MockWorkerFixtures>}
 */
const fixtures = {
  mockOptions: [{}, { option: true, scope: "worker" }],
  mock: [async ({ mockOptions }, use) => {
    const mock = await findMock(mockOptions);
    await use(mock);
    await mock.stop();
  }, { scope: "worker", timeout: 0 }], // startMock has a limit of its own
  account: async ({ mock }, use, testInfo) => {
    const account = await mock.createAccount(testInfo.title);
    await use(account);
    /** @type {unknown} */
    const mistakes = await account.finish().catch((error) => error);
    if (mistakes || testInfo.status !== testInfo.expectedStatus) {
      const path = testInfo.outputPath("requests.json");
      await writeFile(path, JSON.stringify(await account.journal(), null, 1));
      await testInfo.attach("requests to the mock", { path, contentType: "application/json" });
    }
    if (mistakes) throw mistakes;
  },
};

/** @type {typeof import("./playwright.js").test} */
export const test = base.extend(fixtures);
