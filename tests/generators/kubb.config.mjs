import { defineConfig } from "@kubb/core";
import { pluginClient } from "@kubb/plugin-client";
import { pluginOas } from "@kubb/plugin-oas";
import { pluginTs } from "@kubb/plugin-ts";

export default defineConfig({
  input: { path: "./client.yaml" },
  output: { path: "./out/kubb", clean: true },
  plugins: [pluginOas(), pluginTs(), pluginClient({ client: "fetch", bundle: true, baseURL: process.env.MOCK })],
});
