// Lists, creates with a logo and deletes by each generated client; prints the totals on the way.
import { configureStore } from "@reduxjs/toolkit";
import { baseUrl, type Client, fetching, form, headers, results_per_page, walk } from "./fetching";
import { createSplashPage, deleteSplashPage, listSplashPages } from "./out/hey-api";
import { client as heyApi } from "./out/hey-api/client.gen";
import * as kubb from "./out/kubb";
import { setConfig } from "./out/kubb/.kubb/fetch.ts";
import * as oazapfts from "./out/oazapfts/api";
import * as orval from "./out/orval/api";
import { enhancedApi as api } from "./out/rtk-query/api";
import { Api } from "./out/swagger-typescript-api/api";
import { createApiClient } from "./out/openapi-zod-client/api";

heyApi.setConfig({ baseUrl, auth: () => process.env.KEY });
oazapfts.defaults.baseUrl = baseUrl;
oazapfts.defaults.headers = headers;
setConfig({ headers });
const swagger = new Api({ baseUrl, baseApiParams: { headers } }).api;
const zodios = createApiClient(baseUrl, { axiosConfig: { headers }, validate: "request" }); // no schema fits an empty answer
const store = configureStore({
  reducer: { [api.reducerPath]: api.reducer },
  middleware: (defaults) => defaults({ serializableCheck: false }).concat(api.middleware),
});

// kubb's own fetch reads every answer with status 200 as JSON, and that of a delete may be empty
function ifNotEmpty(error: unknown): void {
  if (!(error instanceof SyntaxError)) throw error;
}

const clients: Record<string, Client> = {
  "openapi-typescript": fetching,
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

await walk(clients);
