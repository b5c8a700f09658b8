// One request of the journal: what was sent and answered, as a curl command, and sent once more.
import { ask, copyButton, doing, h, marked, Problem, sayOn, scrolled } from "./page.js";
import { method, status, target } from "./requests.js";

const MASKED = "[key]",
  LONGEST_TEXT = 2000,
  DEEPEST = 20; // as the journal keeps texts; levels that are shown
const KEPT = ["Accept", "Content-Type", "Prefer", "X-Http-Method-Override"]; // headers that a request is sent again with

export async function render({ about, parts: [number] }) {
  const [entry, curl] = await Promise.all([ask(`/_mock/journal/${number}`), ask(`/_mock/journal/${number}/curl`)]);
  const why = about.deployment ? "the journal keeps no keys, and only the deployment knows them." : whyNot(entry);
  const again = doing(async () =>
    sayOn(`/_mock/console/journal/${await sendAgain(entry)}`, "The request was sent again; this is the new answer."),
  );
  const command = curl.trimEnd();
  return [
    h("p", {}, h("a", { href: "/_mock/console/journal" }, "Journal")),
    h("h1", { class: "request" }, method(entry), ` ${target(entry)}`),
    h(
      "p",
      { class: "lead" },
      status(entry),
      ` in ${entry.milliseconds} ms, ${entry.time} UTC, ${entry.account ? `by ${entry.account}` : "with no key that is known"}`,
      entry.forced && [", forced: ", h("code", {}, entry.forced)],
    ),
    h(
      "div",
      { class: "line" },
      why
        ? h("span", { class: "quiet" }, `It cannot be sent again: ${why}`)
        : h("button", { type: "button", onclick: again }, "Send it again"),
      copyButton(command, "Copy as curl", "Copy as curl"),
    ),
    h(
      "details",
      {},
      h("summary", {}, "As a curl command"),
      command.includes("$API_KEY") &&
        h("p", { class: "quiet" }, "Set ", h("code", {}, "API_KEY"), " to the account's key."),
      Object.keys(entry.files).length > 0 &&
        h("p", { class: "quiet" }, "Put your files in place of ", h("code", {}, "FILE"), "."),
      h("pre", { id: "curl", tabindex: 0 }, command),
    ),
    entry.remarks.length > 0 &&
      section(
        "remarks",
        "Remarks",
        h(
          "div",
          { class: "remarks" },
          h(
            "ul",
            {},
            entry.remarks.map((remark) =>
              h(
                "li",
                {},
                marked(remark.what),
                " ",
                h("code", {}, remark.rule),
                remark.is_meant && h("span", { class: "quiet" }, " (meant)"),
              ),
            ),
          ),
        ),
      ),
    Object.keys(entry.fields).length > 0 && section("fields", "Fields", pairs(entry.fields, "fields")),
    Object.keys(entry.files).length > 0 &&
      section(
        "files",
        "Files",
        h(
          "ul",
          {},
          Object.entries(entry.files).map(([name, file]) =>
            h(
              "li",
              {},
              h("strong", {}, name),
              `: ${file.name || "without a name"}, ${file.media_type}, ${file.size} bytes`,
            ),
          ),
        ),
      ),
    entry.body && section("body", "Body", h("pre", { tabindex: 0 }, indented(entry.body))),
    section("sent", "Headers sent", pairs(entry.headers, "sent")),
    section("answer", "Answer", [
      entry.answer ? h("pre", { tabindex: 0 }, indented(entry.answer)) : h("p", { class: "quiet" }, "No body."),
      pairs(entry.answer_headers, "answer"),
    ]),
  ].filter(Boolean);
}

function section(id, title, content) {
  return h("section", {}, h("h2", { id }, title), content);
}

function pairs(values, labelled) {
  return scrolled(
    labelled,
    h(
      "table",
      { class: "pairs" },
      h(
        "tbody",
        {},
        Object.entries(values).map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))),
      ),
    ),
  );
}

// JSON with a line for each value, also if only its beginning was kept; any other text as it is.
export function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text.length >= LONGEST_TEXT && "{[".includes(text[0]) ? laidOut(text) : text;
  }
}

function laidOut(text) {
  let depth = 0,
    lines = "";
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s"{}[\],:]+/g)) {
    depth += "{[".includes(piece) ? 1 : "}]".includes(piece) ? -1 : 0;
    const line = `\n${"  ".repeat(Math.max(0, Math.min(depth, DEEPEST)))}`;
    if ("}]".includes(piece)) lines += line + piece;
    else lines += piece + ("{[,".includes(piece) ? line : piece === ":" ? " " : "");
  }
  return `${lines} …`;
}

function path(entry) {
  return encodeURI(entry.path).replace(/[?#]/g, encodeURIComponent);
}

function whyNot(entry) {
  const hasForm = Object.keys(entry.fields).length > 0;
  if (Object.keys(entry.files).length > 0) return "the journal does not keep the files.";
  if (Object.values(entry.fields).includes(MASKED) || entry.body.includes(MASKED))
    return "the journal does not keep its secrets.";
  if ((entry.headers["Content-Length"] ?? "0") !== "0" && !hasForm && !entry.body)
    return "the journal did not keep its form, as it could not be read.";
  const kept = [entry.path, entry.query, ...Object.values(entry.fields), entry.body];
  if (kept.some((text) => text.length >= LONGEST_TEXT)) return "the journal keeps only the beginning of its texts.";
  const isBrowsers =
    !["CONNECT", "TRACE", "TRACK"].includes(entry.method) &&
    (!["GET", "HEAD"].includes(entry.method) || !(hasForm || entry.body));
  if (!isBrowsers || !entry.path.startsWith("/") || new URL(location.origin + path(entry)).pathname !== path(entry))
    return "no browser sends such a request; use the command.";
  return "";
}

// Sends a request again; the number of the new one.
async function sendAgain(entry) {
  const before = (await ask("/_mock/journal")).entries.at(-1)?.number ?? 0;
  const accounts = await ask("/_mock/accounts"),
    own = accounts.accounts.find((each) => each.name === entry.account);
  const key = own?.key ?? entry.account;
  const headers = Object.fromEntries(
    KEPT.filter((name) => name in entry.headers).map((name) => [name, entry.headers[name]]),
  );
  if (key) headers.Authorization = `Bearer ${key}`;
  let body = entry.body || undefined;
  if (Object.keys(entry.fields).length > 0) {
    const isUrlencoded = (headers["Content-Type"] ?? "").includes("urlencoded");
    body = isUrlencoded ? new URLSearchParams() : new FormData();
    for (const [name, text] of Object.entries(entry.fields)) body.append(name, text);
    if (!isUrlencoded) delete headers["Content-Type"]; // it names a boundary
  }
  const url = location.origin + path(entry) + (entry.query ? `?${entry.query}` : "");
  await fetch(url, { method: entry.method, headers, body, credentials: "omit" }).catch(() => null); // no answer is one, too
  const made = (await ask(`/_mock/journal?after=${before}`)).entries
    .filter((each) => each.method === entry.method && each.path === entry.path)
    .at(-1);
  if (!made) throw new Problem("The request was sent again, but it is not in the journal.");
  return made.number;
}
