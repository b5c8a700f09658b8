// What a project sees that installs the package, compiled with `tsc --strict`.
import { startMock, type Account, type Entry, type Remark } from "link-management-mock";

await using mock = await startMock({ args: ["--records", "0"] });
const account: Account = await mock.createAccount("strict");
const domains = `${account.baseUrl}/api/domains`;

const made = await fetch(domains, {
  method: "POST",
  headers: account.headers,
  body: new URLSearchParams({ host: "go.example.com" }),
});
const { data } = (await made.json()) as { data: { id: number } };

await account.force({ status: 503, headers: { "Retry-After": "2" }, method: "GET" });
const failed = await fetch(`${domains}/${data.id}`, { headers: account.headers });
const read = await fetch(`${domains}/${data.id}`, { headers: account.headers });
const { host } = ((await read.json()) as { data: { host: string } }).data;

await fetch(`${domains}/?results_per_page=7`, { headers: account.headers });
const rules = (await account.remarks()).map((remark: Remark): string => remark.rule);
const statuses = (await account.journal({ path: "/api/*" })).map((entry: Entry): number | null => entry.status);
console.log(JSON.stringify({ created: made.status, failed: failed.status, host, rules, statuses }));

// Each of these is a mistake that the compiler finds.
export const mistakes = [
  // @ts-expect-error
  () => account.force({ statuses: 503 }),
  // @ts-expect-error
  () => account.reset({ records: { domains: [{ is_enabled: true }] } }),
  // @ts-expect-error
  () => account.lost({ when: "later" }),
  // @ts-expect-error
  () => account.delay("soon"),
  // @ts-expect-error
  () => account.journal({ statuses: 503 }),
  // @ts-expect-error
  () => startMock({ arguments: [] }),
];
