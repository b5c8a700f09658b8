// A client whose paths, fields and answers the compiler knows:
//   npx openapi-typescript http://127.0.0.1:8000/openapi.yaml --output api.ts
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

declare const process: { env: Record<string, string | undefined> };

const api = createClient<paths>({
  baseUrl: process.env.MOCK ?? "http://127.0.0.1:8000",
  headers: { Authorization: "Bearer sandbox-typed" },
});

/** Forms are multipart; fetch sets the Content-Type itself. */
function form(fields: Record<string, unknown>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value instanceof Blob ? value : String(value));
  return data;
}

const made = await api.POST("/api/domains", { body: { host: "typed.example.com" }, bodySerializer: form });
if (!made.data || !("data" in made.data)) throw new Error("the create was refused");
const path = { domain_id: made.data.data.id };

const read = await api.GET("/api/domains/{domain_id}", { params: { path } });
if (!read.data || !("data" in read.data)) throw new Error("the read was refused");
const host: string = read.data.data.host;

const listed = await api.GET("/api/domains/", { params: { query: { results_per_page: 10, page: 2 } } });
if (!listed.data || !("meta" in listed.data)) throw new Error("the list was refused");
const total: number = listed.data.meta.total;

console.log(JSON.stringify({ host, total }));
