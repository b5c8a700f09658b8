import { defineConfig } from "cypress";
import { setupMock } from "link-management-mock/cypress/setup";

export default defineConfig({
  e2e: {
    supportFile: "support.ts",
    specPattern: "*.cy.ts",
    setupNodeEvents: (on) => setupMock(on),
  },
});
