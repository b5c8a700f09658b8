/// <reference lib="esnext.disposable" />

/** Starts a mock server on a free port. It ends with this process, however that ends. */
export declare function startMock(options?: StartOptions): Promise<Mock>;

/** A mock that already runs. `token` is its control token; `MOCK_CONTROL_TOKEN` unless given. */
export declare function connect(baseUrl: string, options?: { token?: string }): Mock;

/** The mock that the environment variable `MOCK` names, or else a new one. */
export declare function findMock(options?: StartOptions): Promise<Mock>;

export interface StartOptions {
  /** Options of `mock-server`, such as `["--records", "90"]`. */
  args?: string[];
  /** A command line that starts it, or its words; `MOCK_SERVER` unless given. */
  command?: string | string[];
  /** A wheel or a Git URL, from which uvx or pipx runs it if it isn't installed. */
  from?: string;
  /** A container image that has the command `mock-server`, for Docker or Podman. */
  image?: string;
  /** How long a start may take, downloads included; 120 unless given. */
  timeoutSeconds?: number;
}

export interface Mock {
  /** What a client gets as the URL of the service. */
  readonly baseUrl: string;
  /** Where console and control plane are. */
  readonly url: string;
  /** The control token, if there is one. */
  readonly token: string | undefined;
  /** Creates an account that nobody else has, with the demo data. Its key shows the name. */
  createAccount(name?: string): Promise<Account>;
  /** Any other request to the control plane: `control("PATCH", "state", { defects: ["next-is-null"] })`. */
  control(method: string, path: string, body?: unknown): Promise<any>;
  /** Ends the mock, unless it was already running. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Account {
  readonly key: string;
  readonly baseUrl: string;
  /** What its requests need. */
  readonly headers: { Authorization: string };
  /** Starts again: as it began, or with these records, a fixture or a snapshot. Removes what is forced. */
  reset(start?: { records: Records } | { fixture: "demo" | "empty" | object } | { snapshot: string }): Promise<void>;
  /** Answers its next matching request, or more: `{ status: 503 }`, `{ field: "host" }`, `{ prefer: "code=429" }`. */
  force(answer: Forced): Promise<InForce>;
  /** Puts trouble such as `latency=0.5` around its requests, until it is reset, or for `times` or `seconds`. */
  condition(condition: string, which?: Which): Promise<InForce>;
  /** Loses the answer to its next matching request, after the request is carried out or before. */
  lost(options?: Which & { when?: "after" | "before" }): Promise<InForce>;
  /** Delays its next matching request: seconds, or a range such as `"0.2-1.5"`. */
  delay(seconds: number | `${number}-${number}`, which?: Which): Promise<InForce>;
  /** Its requests with their answers, oldest first. */
  journal(filters?: Filters): Promise<Entry[]>;
  /** The mistakes of its client that are not meant. */
  remarks(): Promise<Remark[]>;
  /** Mistakes against these rules, such as `"forms.*"`, are meant from now on; all, if none is given. */
  means(...rules: string[]): Promise<void>;
  /** Sets its clock: `"2026-03-02 09:00:00"`. */
  setClock(now: string): Promise<{ now: string }>;
  /** Ends a test: removes what is forced, and throws if its client made mistakes that are not meant. */
  finish(): Promise<void>;
}

export interface Records {
  "splash-pages"?: SplashPage[];
  domains?: Domain[];
  "notification-handlers"?: NotificationHandler[];
}

export interface SplashPage {
  id?: number;
  name: string;
  color?: string;
  title?: string;
  /** A file beside the fixture, or a `data:` URL. */
  logo?: string;
  favicon?: string;
  opengraph?: string;
  description?: string;
  secondary_button_name?: string;
  secondary_button_url?: string;
  custom_css?: string;
  custom_js?: string;
  ads_header?: string;
  ads_footer?: string;
  link_unlock_seconds?: number;
  auto_redirect?: boolean;
  datetime?: string;
  last_datetime?: string | null;
}

export interface Domain {
  id?: number;
  scheme?: string;
  host: string;
  custom_index_url?: string;
  custom_not_found_url?: string;
  is_enabled?: boolean;
  datetime?: string;
  last_datetime?: string | null;
}

export interface NotificationHandler {
  id?: number;
  type: "email" | "webhook" | "slack" | "discord" | "telegram" | "microsoft_teams";
  name: string;
  email?: string;
  webhook?: string;
  slack?: string;
  discord?: string;
  telegram?: string;
  telegram_chat_id?: string;
  microsoft_teams?: string;
  is_enabled?: boolean;
  datetime?: string;
  last_datetime?: string | null;
}

/** Which requests of the account get something. */
export interface Which {
  method?: "GET" | "POST" | "DELETE" | "PUT" | "PATCH" | "HEAD" | "*";
  /** With `*` for anything. */
  path?: string;
  /** How often; null for ever. */
  times?: number | null;
  seconds?: number | null;
  /** One matching request in so many. */
  every?: number;
}

export interface Forced extends Which {
  /** `code=429`, `delay=2`, `lost=after`, `defect=NAME`. */
  prefer?: string;
  condition?: string;
  status?: number | null;
  headers?: Record<string, string>;
  /** Any JSON, or a text if the headers name another media type. */
  body?: unknown;
  /** A form field that is refused by name. */
  field?: string;
}

/** What is forced, as the mock keeps it. */
export interface InForce extends Required<Omit<Forced, "method">> {
  method: string;
  account: string;
  number: number;
  /** In seconds since 1970. */
  ends: number | null;
  /** How many requests have matched. */
  seen: number;
  what: string;
}

export interface Filters {
  method?: string;
  /** With `*` for anything. */
  path?: string;
  status?: number;
  /** Those with remarks, or without. */
  remarks?: boolean;
  /** Those with higher numbers. */
  after?: number;
}

export interface Entry {
  number: number;
  time: string;
  account: string;
  method: string;
  path: string;
  query: string;
  /** The key is masked. */
  headers: Record<string, string>;
  fields: Record<string, string>;
  files: Record<string, { name: string; media_type: string; size: number }>;
  /** The beginning of a body that is no form. */
  body: string;
  /** Null where the connection was dropped. */
  status: number | null;
  forced: string;
  broken: string;
  own: boolean;
  answer_headers: Record<string, string>;
  /** Its beginning. */
  answer: string;
  milliseconds: number;
  remarks: Remark[];
}

export interface Remark {
  what: string;
  rule: string;
  is_meant: boolean;
}
