// MOCK, APP and CHROMIUM say where the mock, this folder after npm run build, and the browser are.
export default {
  testMatch: "*.e2e.mjs",
  reporter: "line",
  expect: { timeout: 20_000 }, // a service in trouble takes its time
  use: {
    launchOptions: { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] },
  },
};
