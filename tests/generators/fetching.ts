// Lists, creates with a logo and deletes by the client that openapi-fetch makes of the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { components, paths } from "./out/openapi-typescript/api.js";

export interface Client {
  list(): Promise<number | undefined>;
  create(name: string, logo: File): Promise<number | undefined>;
  remove(id: number): Promise<unknown>;
}

export const baseUrl = process.env.MOCK ?? "";
export const headers = { Authorization: `Bearer ${process.env.KEY}` };
export const results_per_page = 10 as const;
const client = createClient<paths>({ baseUrl, headers });

export function form(name: string, logo: File): FormData {
  const filled = new FormData();
  filled.set("name", name);
  filled.set("logo", logo);
  return filled;
}

export const fetching: Client = {
  list: async () => (await client.GET("/api/splash-pages/", { params: { query: { results_per_page } } })).data?.meta.total,
  create: async (name, logo) =>
    (
      await client.POST("/api/projects", {
        body: { name, logo } as unknown as components["schemas"]["SplashPageCreate"], // it takes a file for a string
        bodySerializer: () => form(name, logo),
      })
    ).data?.data.id,
  remove: (splash_page_id) => client.DELETE("/api/splash-pages/{splash_page_id}", { params: { path: { splash_page_id } } }),
};

/** Prints, for each client by its name, the totals on the way. */
export async function walk(clients: Record<string, Client>): Promise<void> {
  const logo = new File([Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10])], "logo.png", { type: "image/png" });
  const walked: Record<string, unknown> = {};
  for (const [name, client] of Object.entries(clients)) {
    const before = await client.list();
    const id = await client.create(name, logo);
    const between = await client.list();
    if (id !== undefined) await client.remove(id);
    walked[name] = { before, id: typeof id, between, after: await client.list() };
  }
  console.log(JSON.stringify(walked));
}
