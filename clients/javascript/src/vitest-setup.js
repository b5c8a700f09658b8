// Vitest's global set-up: one mock for all tests.
import { findMock } from "./index.js";

/** @type {typeof import("./vitest-setup.js").setUp} */
export const setUp = (options) => async (project) => {
  const { baseUrl, token, stop } = await findMock(options);
  project.provide("mock", { baseUrl, token });
  return stop;
};

export default setUp();
