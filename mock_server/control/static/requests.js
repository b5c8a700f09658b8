// Requests of the journal as rows, and what is forced, as a list.
import { ask, doing, h, marked, say, scrolled, shortened } from "./page.js";

export const FAILED = 400;

export const target = (entry) => (entry.query ? `${entry.path}?${entry.query}` : entry.path);

// Whether a request came from these pages, the contract's among them.
export const isConsole = (entry) => (entry.headers.Referer ?? "").includes("/_mock/console");

export const isPreflight = (entry) => entry.method === "OPTIONS" && "Access-Control-Request-Method" in entry.headers;

export function method(entry) {
  return h("span", { class: `method ${entry.method.toLowerCase()}` }, entry.method);
}

export function status(entry) {
  const preferred = entry.answer_headers["Preference-Applied"] ?? "";
  const marks = [];
  if (entry.own) marks.push("by the proxy");
  if (entry.forced) marks.push("forced");
  else if (preferred) marks.push("preferred");
  if (/\bdelay\b|latency|slow/.test(`${entry.forced} ${preferred}`)) marks.push("delayed");
  const isBad = entry.broken || entry.status >= FAILED;
  return [
    h("span", { class: `status ${isBad ? "bad" : "good"}` }, entry.broken || String(entry.status)),
    marks.map((mark) => [" ", h("span", { class: "mark", title: mark === "forced" ? entry.forced : null }, mark)]),
  ];
}

// The next request like one that was sent fails, once.
async function failNext(entry) {
  const body = { errors: [{ title: "The console asked for this answer.", status: 503 }] };
  const given = { status: 503, body, method: entry.method, path: entry.path, times: 1 };
  await ask("/_mock/forced", "POST", entry.account ? { ...given, account: entry.account } : given);
  say(
    `The next ${entry.method} ${entry.path}${entry.account ? ` by ${entry.account}` : ""} gets 503. Take it back under Switches.`,
  );
}

export function row(entry) {
  return h(
    "tr",
    {},
    h("td", { class: "time", title: entry.time }, entry.time.slice(11, 19)),
    h(
      "th",
      { scope: "row" },
      h("a", { href: `/_mock/console/journal/${entry.number}` }, method(entry), ` ${target(entry)}`),
    ),
    h("td", {}, status(entry)),
    h("td", { class: "key" }, shortened(entry.account || "none", 22)),
    h("td", { class: "number" }, String(entry.milliseconds)),
    h(
      "td",
      {},
      entry.remarks.map((remark) =>
        h("p", { class: "remark" }, marked(remark.what), remark.is_meant && h("span", { class: "quiet" }, " (meant)")),
      ),
    ),
    h(
      "td",
      {},
      entry.path.includes("/api/") &&
        !isPreflight(entry) &&
        h(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": `Fail next ${entry.method} ${entry.path}`,
            onclick: doing(() => failNext(entry)),
          },
          "Fail next",
        ),
    ),
  );
}

export function table(entries, labelled) {
  const heads = ["Time (UTC)", "Request", "Status", "Account", "ms", "Remarks", "Next"];
  return scrolled(
    labelled,
    h(
      "table",
      { class: "journal" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((text) => h("th", { scope: "col", class: text === "ms" ? "number" : null }, text)),
        ),
      ),
      h("tbody", { id: "entries" }, entries.map(row)),
    ),
  );
}

export function archive() {
  const url = new URL("/_mock/journal.har", location.href).href;
  return h(
    "div",
    { class: "line" },
    h("a", { class: "button", href: "/_mock/journal.har", download: "journal.har" }, "Save as HAR"),
    h(
      "details",
      { id: "judge" },
      h("summary", {}, "Judge the answers"),
      h("p", { class: "quiet" }, "Where the suite is installed, with the file that you saved, or straight from here:"),
      h("pre", { tabindex: 0 }, h("code", {}, "contract-tests judge journal.har")),
      h("pre", { tabindex: 0 }, h("code", {}, `curl -o journal.har ${url} && contract-tests judge journal.har`)),
    ),
  );
}

// The latest requests, and the remarks about all of them, the most frequent first.
export function latest(journal, labelled) {
  const counts = new Map();
  for (const remark of journal.flatMap((entry) => entry.remarks).filter((each) => !each.is_meant)) {
    const known = counts.get(remark.what) ?? { ...remark, times: 0 };
    counts.set(remark.what, { ...known, times: known.times + 1 });
  }
  const most = [...counts.values()].sort((one, other) => other.times - one.times).slice(0, 5);
  const shown = journal
    .filter((entry) => !isPreflight(entry) && !isConsole(entry))
    .slice(-5)
    .reverse();
  return [
    most.length > 0 &&
      h(
        "div",
        { class: "remarks" },
        h("h3", {}, "What your client may want to change"),
        h(
          "ul",
          {},
          most.map((each) =>
            h(
              "li",
              {},
              marked(each.what),
              " ",
              h("code", {}, each.rule),
              h("span", { class: "quiet" }, ` ${each.times}×`),
            ),
          ),
        ),
      ),
    shown.length > 0
      ? [table(shown, labelled), h("p", {}, h("a", { href: "/_mock/console/journal" }, "The whole journal"))]
      : h("p", { class: "quiet" }, "No requests yet."),
  ];
}

const duration = (each) =>
  `${each.times === 1 ? "once" : each.times ? `${each.times} times` : each.seconds ? `for ${each.seconds} s` : "until it is removed"}${each.every > 1 ? `, one in ${each.every}` : ""}`;

export function forcedList(forced, redraw) {
  const remove = (each) =>
    doing(async () => {
      await ask(`/_mock/forced/${each.number}`, "DELETE");
      await redraw();
      say("The forced answer was removed.");
    });
  return h(
    "ul",
    { class: "plain" },
    forced.map((each) =>
      h(
        "li",
        { class: "line" },
        h(
          "span",
          {},
          h("code", {}, `${each.method === "*" ? "any" : each.method} ${each.path === "*" ? "path" : each.path}`),
          " by ",
          each.account === "*" ? "any account" : h("code", {}, shortened(each.account)),
          " ",
          h("strong", {}, each.what),
          " ",
          h("span", { class: "quiet" }, duration(each)),
        ),
        h(
          "button",
          { type: "button", class: "small", "aria-label": `Remove ${each.what}`, onclick: remove(each) },
          "Remove",
        ),
      ),
    ),
  );
}
