// Vitest: each test has an account of its own, and fails if its client makes a mistake that the mock remarks.
import { test } from "link-management-mock/vitest";
import { expect } from "vitest";

interface Settings {
  baseUrl: string;
  headers: { Authorization: string };
}

/** The client that is tested: reads all domains, and tries once more when the service asks it to wait. */
async function hosts({ baseUrl, headers }: Settings): Promise<string[]> {
  const found: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const url = `${baseUrl}/api/domains/?results_per_page=10&page=${page}`;
    let answer = await fetch(url, { headers });
    const wait = answer.headers.get("Retry-After");
    if (wait) {
      await new Promise((done) => setTimeout(done, Number(wait) * 1000));
      answer = await fetch(url, { headers });
    }
    if (!answer.ok) throw new Error(`the service answered with ${answer.status}`);
    const { data, meta } = await answer.json();
    found.push(...data.map(({ host }: { host: string }) => host));
    pages = meta.total_pages;
  }
  return found;
}

test("reads all pages", async ({ mockAccount }) => {
  expect(new Set(await hosts(mockAccount)).size).toBe(54);
});

test("reads what the test has put there", async ({ mockAccount }) => {
  await mockAccount.reset({ records: { domains: [{ host: "go.example.com" }, { host: "links.example.com" }] } });
  expect(await hosts(mockAccount)).toEqual(["links.example.com", "go.example.com"]);
});

test("waits as long as it is asked to", async ({ mockAccount }) => {
  await mockAccount.force({ status: 503, headers: { "Retry-After": "1" } });
  expect(await hosts(mockAccount)).toHaveLength(54);
  expect(await mockAccount.journal({ status: 503 })).toHaveLength(1);
});

test("says what went wrong", async ({ mockAccount }) => {
  await mockAccount.condition("latency=0.1");
  await mockAccount.force({ prefer: "code=500", path: "/api/domains/*" });
  await expect(hosts(mockAccount)).rejects.toThrow("the service answered with 500");
});

test("is refused without a name, which is meant here", async ({ mockAccount: { baseUrl, headers, means } }) => {
  await means("forms.name-required");
  const refused = await fetch(`${baseUrl}/api/projects`, { method: "POST", headers, body: new FormData() });
  expect(refused.status).toBe(400);
});
