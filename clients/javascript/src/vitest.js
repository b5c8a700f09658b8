// Vitest's `test` with an account of the mock for each test.
import { inject, test as base } from "vitest";
import { connect } from "./index.js";

/** @type {typeof import("./vitest.js").test} */
export const test = base.extend({
  mockAccount: async ({ task }, use) => {
    const { baseUrl, token } = inject("mock");
    const account = await connect(baseUrl, { token }).createAccount(task.name);
    await use(account);
    await account.finish();
  },
});
