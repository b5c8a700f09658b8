// index.html answers its own requests, from the examples of the document; index.html?mock sends them to the mock server.
import { fromOpenApi } from "@msw/source/open-api";
import { setupWorker } from "msw/browser";
import { parse } from "yaml";
import text from "./openapi.client.yaml";

const contract = parse(text);
const base = contract.servers[0].url;
if (!new URLSearchParams(location.search).has("mock")) await setupWorker(...(await fromOpenApi(contract))).start();

async function call(path, options) {
  const answer = await fetch(base + path, { headers: { Authorization: "Bearer sandbox-in-the-page" }, ...options });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

async function show() {
  const { data, meta } = await call("/api/splash-pages/?results_per_page=10");
  document.querySelector("h1").textContent = `Splash pages (${meta.total})`;
  document.querySelector("ul").replaceChildren(
    ...data.map(({ name, color }) => Object.assign(document.createElement("li"), { textContent: `${name} ${color}` })),
  );
}

document.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { data } = await call("/api/projects", { method: "POST", body: new FormData(event.target) });
  await show();
  document.querySelector("output").textContent = `Created ${data.id}`;
});
await show();
