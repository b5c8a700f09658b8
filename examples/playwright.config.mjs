// npx playwright test --config examples; MOCK and CHROMIUM say where the mock and the browser are.
export default {
  testMatch: "*.spec.mjs",
  fullyParallel: true,
  workers: 8,
  reporter: "line",
  use: {
    launchOptions: { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] },
  },
};
