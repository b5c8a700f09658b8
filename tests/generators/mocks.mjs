// Sends the same requests to each mock that another tool makes of the document; prints what comes back.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { OpenApiConverter } from "@mockoon/commons";
import { MockoonServer } from "@mockoon/commons-server";
import { fromOpenApi } from "@msw/source/open-api";
import { createMockServer } from "@scalar/mock-server";
import { getResponse } from "msw";
import { handlers } from "./handlers/handlers.js";

const text = await readFile("client.yaml", "utf8");
const key = { Authorization: `Bearer ${process.env.KEY}` };

const byHandlers = (handlers) => (path, options) => getResponse(handlers, new Request(process.env.MOCK + path, options));

const at = (port) => (path, options) => fetch(`http://127.0.0.1:${port}${path}`, options);

async function listening(listener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function mockoon() {
  const options = { disabledRoutes: [], envVarsPrefix: "", publicBaseUrl: "" };
  const server = new MockoonServer(await new OpenApiConverter().convertFromOpenAPI(text), options);
  server.on("error", (code, error) => { throw error ?? new Error(code); });
  return at((await listening(server.createRequestListener())).address().port);
}

async function prism() {
  const probe = await listening();
  const { port } = probe.address();
  probe.close();
  const child = spawn("node_modules/.bin/prism", ["mock", "client.yaml", "--port", String(port)], { stdio: ["ignore", "pipe", "inherit"] });
  process.once("exit", () => child.kill());
  for await (const line of createInterface({ input: child.stdout })) if (line.includes("Prism is listening")) break;
  return at(port);
}

function form(fields) {
  const filled = new FormData();
  for (const [name, value] of Object.entries(fields)) filled.set(name, value);
  return filled;
}

async function walk(send) {
  async function told(method, path, options) {
    const answer = await send(path, { method, headers: key, ...options });
    if (!answer) return { status: null }; // no handler takes it
    const body = await answer.text();
    const isJson = answer.headers.get("Content-Type")?.includes("json");
    return { status: answer.status, json: isJson && body ? JSON.parse(body) : body };
  }
  const logo = new File([Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10])], "logo.png", { type: "image/png" });
  const list = await told("GET", "/api/splash-pages/?results_per_page=10");
  const { pathname, search } = new URL(list.json.links.self);
  return {
    list,
    link: await told("GET", pathname + search),
    read: await told("GET", "/api/splash-pages/12"),
    create: await told("POST", "/api/projects", { body: form({ name: "Mock", logo }) }),
    again: await told("GET", "/api/splash-pages/?results_per_page=10"),
    nameless: await told("POST", "/api/projects", { body: form({ title: "Mock" }) }),
    keyless: await told("GET", "/api/splash-pages/12", { headers: {} }),
    delete: await told("DELETE", "/api/splash-pages/12"),
  };
}

const scalar = await createMockServer({ document: text, logger: false });
const mocks = {
  "msw-auto-mock": byHandlers(handlers),
  "@msw/source": byHandlers(await fromOpenApi(text)),
  Scalar: (path, options) => scalar.request(path, options),
  Mockoon: await mockoon(),
  Prism: await prism(),
};
const walked = {};
for (const [name, send] of Object.entries(mocks)) walked[name] = await walk(send);
console.log(JSON.stringify(walked));
process.exit();
