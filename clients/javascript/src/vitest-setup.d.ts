import type { StartOptions } from "./index.js";

interface Project {
  provide(name: "mock", value: { baseUrl: string; token: string | undefined }): void;
}

/** A mock for all tests: the one that `MOCK` names, or a new one. */
export type SetUp = (project: Project) => Promise<() => Promise<void>>;

/** A global set-up that starts the mock in another way. */
export declare const setUp: (options?: StartOptions) => SetUp;

declare const standard: SetUp;
export default standard;
