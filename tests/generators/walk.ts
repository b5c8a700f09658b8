// Lists, creates with a logo and deletes by each generated client; prints the totals on the way.
import { configureStore } from "@reduxjs/toolkit";
import createClient from "openapi-fetch";
import { createSplashPage, deleteSplashPage, listSplashPages } from "./out/hey-api";
import { client as heyApi } from "./out/hey-api/client.gen";
import * as kubb from "./out/kubb";
import { setConfig } from "./out/kubb/.kubb/fetch.ts";
import * as oazapfts from "./out/oazapfts/api";
import type { components, paths } from "./out/openapi-typescript/api";
import * as orval from "./out/orval/api";
import { enhancedApi as api } from "./out/rtk-query/api";
import { Api } from "./out/swagger-typescript-api/api";
import { createApiClient } from "./out/openapi-zod-client/api";

interface Client {
  list(): Promise<number | undefined>;
  create(name: string, logo: File): Promise<number | undefined>;
  remove(id: number): Promise<unknown>;
}

const baseUrl = process.env.MOCK ?? "";
const headers = { Authorization: `Bearer ${process.env.KEY}` };
const results_per_page = 10 as const;

heyApi.setConfig({ baseUrl, auth: () => process.env.KEY });
oazapfts.defaults.baseUrl = baseUrl;
oazapfts.defaults.headers = headers;
setConfig({ headers });
const fetching = createClient<paths>({ baseUrl, headers });
const swagger = new Api({ baseUrl, baseApiParams: { headers } }).api;
const zodios = createApiClient(baseUrl, { axiosConfig: { headers }, validate: "request" }); // no schema fits an empty answer
const store = configureStore({
  reducer: { [api.reducerPath]: api.reducer },
  middleware: (defaults) => defaults({ serializableCheck: false }).concat(api.middleware),
});

function form(name: string, logo: File): FormData {
  const filled = new FormData();
  filled.set("name", name);
  filled.set("logo", logo);
  return filled;
}

// kubb's own fetch reads every answer with status 200 as JSON, and that of a delete may be empty
function ifNotEmpty(error: unknown): void {
  if (!(error instanceof SyntaxError)) throw error;
}

const clients: Record<string, Client> = {
  "openapi-typescript": {
    list: async () => (await fetching.GET("/api/splash-pages/", { params: { query: { results_per_page } } })).data?.meta.total,
    create: async (name, logo) =>
      (
        await fetching.POST("/api/projects", {
          body: { name, logo } as unknown as components["schemas"]["SplashPageCreate"], // it takes a file for a string
          bodySerializer: () => form(name, logo),
        })
      ).data?.data.id,
    remove: (splash_page_id) => fetching.DELETE("/api/splash-pages/{splash_page_id}", { params: { path: { splash_page_id } } }),
  },
  "hey-api": {
    list: async () => (await listSplashPages({ query: { results_per_page } })).data?.meta.total,
    create: async (name, logo) => (await createSplashPage({ body: { name, logo } })).data?.data.id,
    remove: (splash_page_id) => deleteSplashPage({ path: { splash_page_id } }),
  },
  orval: {
    list: async () => {
      const answer = await orval.listSplashPages({ results_per_page }, { headers });
      return answer.status === 200 ? answer.data.meta.total : undefined;
    },
    create: async (name, logo) => {
      const answer = await orval.createSplashPage({ name, logo }, { headers });
      return answer.status === 201 ? answer.data.data.id : undefined;
    },
    remove: (id) => orval.deleteSplashPage(id, { headers }),
  },
  kubb: {
    list: async () => (await kubb.listSplashPages({ results_per_page })).meta.total,
    create: async (name, logo) => (await kubb.createSplashPage({ name, logo })).data.id,
    remove: (id) => kubb.deleteSplashPage(id).catch(ifNotEmpty),
  },
  oazapfts: {
    list: async () => {
      const answer = await oazapfts.listSplashPages({ resultsPerPage: results_per_page });
      return "meta" in answer.data ? answer.data.meta.total : undefined;
    },
    create: async (name, logo) => {
      const answer = await oazapfts.createSplashPage({ name, logo });
      return "data" in answer.data ? answer.data.data.id : undefined;
    },
    remove: (id) => oazapfts.deleteSplashPage(id),
  },
  "swagger-typescript-api": {
    list: async () => (await swagger.listSplashPages({ results_per_page })).data.meta.total,
    create: async (name, logo) => (await swagger.createSplashPage({ name, logo })).data.data.id,
    remove: (id) => swagger.deleteSplashPage(id),
  },
  "openapi-zod-client": {
    list: async () => (await zodios.listSplashPages({ queries: { results_per_page } })).meta.total,
    create: async (name, logo) => (await zodios.createSplashPage({ name, logo })).data.id,
    remove: (splash_page_id) => zodios.deleteSplashPage(undefined, { params: { splash_page_id } }),
  },
  "rtk-query": {
    list: async () =>
      (await store.dispatch(api.endpoints.listSplashPages.initiate({ resultsPerPage: results_per_page }, { forceRefetch: true })))
        .data?.meta.total,
    create: async (name, logo) => {
      const answer = await store.dispatch(api.endpoints.createSplashPage.initiate({ splashPageCreate: form(name, logo) as never }));
      return "data" in answer ? answer.data?.data.id : undefined;
    },
    remove: (splashPageId) => store.dispatch(api.endpoints.deleteSplashPage.initiate({ splashPageId })),
  },
};

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
