// npx vitest run --config examples/vitest.config.mjs; MOCK names a mock that already runs.
export default {
  test: {
    dir: import.meta.dirname,
    include: ["**/vitest.test.ts"],
    globalSetup: "link-management-mock/vitest/setup",
  },
};
