/// <reference types="cypress" />
import type { StartOptions } from "./index.js";

/** For `setupNodeEvents`: starts the mock, unless `MOCK` names one, and adds the task that `cy.mockAccount` needs. */
export declare function setupMock(on: Cypress.PluginEvents, options?: StartOptions): Promise<void>;
