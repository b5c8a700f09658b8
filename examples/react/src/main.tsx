// A front end on the mock: index.html?mock=http://127.0.0.1:8000&key=sandbox-me
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { SplashPages } from "./SplashPages";
import { client } from "./client/client.gen";
import { patientFetch } from "./patience";

const given = new URLSearchParams(location.search);
client.setConfig({
  baseUrl: given.get("mock") ?? "http://127.0.0.1:8000",
  auth: () => given.get("key") ?? "sandbox-react",
  fetch: patientFetch as typeof fetch,
});

const queries = new QueryClient({ defaultOptions: { queries: { refetchOnWindowFocus: false, retry: false } } });

createRoot(document.getElementById("app")!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SplashPages />
    </QueryClientProvider>
  </StrictMode>,
);
