import type { TestAPI } from "vitest";
import type { Account } from "./index.js";

declare module "vitest" {
  interface ProvidedContext {
    mock: { baseUrl: string; token: string | undefined };
  }
}

/** Needs the global set-up `link-management-mock/vitest/setup`. */
export declare const test: TestAPI<{
  /** An account that no other test has; the test fails if its client makes a mistake that is not meant. */
  mockAccount: Account;
}>;
