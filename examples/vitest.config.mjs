// npx vitest run --config examples/vitest.config.mjs
export default {
  test: {
    root: import.meta.dirname,
    include: ["vitest.test.ts"],
    globalSetup: "link-management-mock/vitest/setup",
  },
};
