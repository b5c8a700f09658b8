// The command `cy.mockAccount`, for Cypress' support file.

/** @type {import("./cypress.js").MockAccount[]} */
const made = [];

Cypress.Commands.add("mockAccount", (name = Cypress.currentTest.title) =>
  cy.task("mockAccount", { name }).then((/** @type {any} */ { methods, ...account }) => {
    for (const method of methods)
      account[method] = (/** @type {any[]} */ ...args) => cy.task("mockAccount", { key: account.key, method, args });
    made.push(account);
    return account;
  }),
);

afterEach(() => {
  for (const account of made.splice(0)) account.finish();
});
