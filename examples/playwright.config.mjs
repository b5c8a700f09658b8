// npx playwright test --config examples; MOCK names a mock that already runs, CHROMIUM a browser.
export default {
  testMatch: "*.spec.mjs",
  fullyParallel: true,
  workers: 8,
  reporter: "line",
  use: {
    launchOptions: { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] },
  },
};
