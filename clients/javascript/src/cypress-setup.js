// The part of Cypress' set-up that runs in Node: it starts the mock, and does what the command `cy.mockAccount` asks.
import { findMock } from "./index.js";

/** @type {typeof import("./cypress-setup.js").setupMock} */
export async function setupMock(on, options) {
  const mock = await findMock(options); // it ends with Cypress, of which this process is a part
  /** @type {Map<string, any>} */
  const accounts = new Map();
  on("task", {
    /** @param {{name?: string, key?: string, method?: string, args?: unknown[]}} asked */
    mockAccount: async ({ name, key = "", method = "", args = [] }) => {
      if (accounts.has(key)) return (await accounts.get(key)[method](...args)) ?? null;
      const account = await mock.createAccount(name);
      accounts.set(account.key, account);
      const members = Object.entries(account);
      const methods = members.filter(([, member]) => typeof member === "function").map(([member]) => member);
      return { ...JSON.parse(JSON.stringify(account)), methods };
    },
  });
}
