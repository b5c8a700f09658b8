import { fetching, walk } from "./fetching.js";

await walk({ "openapi-typescript": fetching });
