export default {
  api: {
    input: "client.yaml",
    output: { target: "out/orval/api.ts", client: "react-query", httpClient: "fetch", baseUrl: process.env.MOCK },
  },
};
