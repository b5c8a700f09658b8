// A client that @hey-api/openapi-ts has generated, with the patience of the example in React: it relies on the contract
// alone. It creates a domain and a handler, changes both, and deletes them.
import { createDomain, createNotificationHandler, deleteDomain, deleteNotificationHandler } from "./client";
import { listDomains, listNotificationHandlers, updateDomain, updateNotificationHandler } from "./client";
import { client } from "./client/client.gen";
import { isTrouble, patientFetch, pause, TRIES, until, wait } from "./patience";

client.setConfig({
  baseUrl: process.env.API_BASE_URL,
  auth: () => process.env.API_KEY,
  fetch: patientFetch as typeof fetch,
});
const AS_JSON = { parseAs: "json", throwOnError: true } as const; // whatever its media type says

interface Listed {
  data: { data: { id: number }[]; meta: { total_pages: number } };
}

interface Made {
  data?: { data: { id: number | string } };
  error?: unknown;
  response?: Response;
}

async function every<Page extends Listed>(list: (page: number) => Promise<Page>): Promise<Page["data"]["data"]> {
  const rows: Page["data"]["data"] = [];
  for (let page = 1, last = 1; page <= last; page += 1) {
    const { data } = await list(page);
    rows.push(...data.data);
    last = data.meta.total_pages;
  }
  return rows;
}

const domains = () => every((page) => listDomains({ query: { page, results_per_page: 100 }, ...AS_JSON }));
const handlers = () => every((page) => listNotificationHandlers({ query: { page, results_per_page: 100 }, ...AS_JSON }));

/** Creates a record once: if nobody knows whether that worked, it looks before it tries again. */
async function create(send: () => Promise<Made>, find: () => Promise<{ id: number }[]>): Promise<number> {
  const before = new Set((await find()).map(({ id }) => id));
  for (let turn = 0; turn < TRIES; turn += 1) {
    const { data, error, response } = await send();
    if (data && response?.ok) return Number(data.data.id);
    if (!isTrouble(response)) throw error;
    await pause(Math.max(wait(response, turn), 700)); // a list may lag behind
    const made = (await find()).find(({ id }) => !before.has(id));
    if (made) return made.id;
  }
  throw new Error("could not create");
}

async function remove(send: () => Promise<{ error?: unknown; response?: Response }>): Promise<void> {
  const { error, response } = await send();
  if (error && response?.status !== 404) throw error; // it may be gone already
}

const host = "generated.example.com";
const domain_id = await create(
  () => createDomain({ body: { host }, parseAs: "json" }),
  async () => (await domains()).filter((each) => each.host === host),
);
const notification_handler_id = await create(
  () => createNotificationHandler({ body: { name: "Generated", type: "email", email: "ops@example.com" }, parseAs: "json" }),
  async () => (await handlers()).filter(({ name }) => name === "Generated"),
);
await updateDomain({ path: { domain_id }, body: { custom_index_url: "https://example.com/start" }, ...AS_JSON });
await updateNotificationHandler({ path: { notification_handler_id }, body: { name: "Changed" }, ...AS_JSON });
await until(async () => (await domains()).some((each) => each.id === domain_id && each.custom_index_url !== ""));
await until(async () => (await handlers()).some(({ id, name }) => id === notification_handler_id && name === "Changed"));
await remove(() => deleteDomain({ path: { domain_id }, parseAs: "text" }));
await remove(() => deleteNotificationHandler({ path: { notification_handler_id }, parseAs: "text" }));
await until(async () => !(await domains()).some(({ id }) => id === domain_id));
