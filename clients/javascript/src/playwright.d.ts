import type {
  PlaywrightTestArgs,
  PlaywrightTestOptions,
  PlaywrightWorkerArgs,
  PlaywrightWorkerOptions,
  TestType,
} from "@playwright/test";
import type { Account, Mock, StartOptions } from "./index.js";

export { expect } from "@playwright/test";

export interface MockFixtures {
  /** An account that no other test has; the test fails if its client makes a mistake that is not meant. */
  account: Account;
}

export interface MockWorkerFixtures {
  /** How the mock is started: `use: { mockOptions: { from: "..." } }`. */
  mockOptions: StartOptions;
  /** The mock that `MOCK` names, or one for each worker. */
  mock: Mock;
}

export declare const test: TestType<
  PlaywrightTestArgs & PlaywrightTestOptions & MockFixtures,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions & MockWorkerFixtures
>;
