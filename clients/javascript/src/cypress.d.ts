/// <reference types="cypress" />
import type { Account } from "./index.js";

/** An account whose methods are Cypress commands. */
export type MockAccount = {
  [Name in keyof Account]: Account[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Cypress.Chainable<Result>
    : Account[Name];
};

declare global {
  namespace Cypress {
    interface Chainable {
      /** An account that no other test has; the test fails if its client makes a mistake that is not meant. */
      mockAccount(name?: string): Chainable<MockAccount>;
    }
  }
}
