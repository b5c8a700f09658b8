// The journal: the latest requests, live, filtered as somebody types.
import { ask, confirmed, cut, h, option, query, say } from "./page.js";
import { archive, isConsole, isPreflight, row, table, target } from "./requests.js";

const PAGE = 50; // rows
const METHODS = ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"];

export async function render({ redraw }) {
  const { entries } = await ask("/_mock/journal"),
    given = query();
  const live = h("p", { class: "quiet", id: "live", role: "status" }, "The latest come first.");
  const accounts = h("select", { name: "account" }),
    filters = h(
      "form",
      {
        class: "line",
        role: "search",
        "aria-label": "Find requests",
        onsubmit: (event) => event.preventDefault(),
        oninput: () => showPage(1),
      },
      h("label", {}, "Account ", accounts),
      h(
        "label",
        {},
        "Method ",
        h(
          "select",
          { name: "method" },
          option("", "any", given.get("method") ?? ""),
          METHODS.map((each) => option(each, each, given.get("method"))),
        ),
      ),
      h(
        "label",
        {},
        "Path ",
        h("input", { name: "path", type: "search", value: given.get("path"), placeholder: "/api/domains" }),
      ),
      h(
        "label",
        {},
        "Status ",
        h("input", { name: "status", value: given.get("status"), size: 4, inputmode: "numeric", placeholder: "400" }),
      ),
      h(
        "label",
        { class: "check" },
        h("input", { type: "checkbox", name: "remarks", checked: given.has("remarks") }),
        " only with remarks",
      ),
      h(
        "label",
        { class: "check" },
        h("input", { type: "checkbox", name: "preflights", checked: given.has("preflights") }),
        " also preflights",
      ),
      h(
        "label",
        { class: "check" },
        h("input", { type: "checkbox", name: "console", checked: given.has("console") }),
        " also from this console",
      ),
    );
  let pageNumber = 1;
  const shown = table([], "title"),
    body = shown.querySelector("tbody"),
    nothing = h("p", { class: "quiet" }, "Nothing so far.");

  const offerAccounts = () => {
    const chosen = accounts.options.length > 0 ? accounts.value : (given.get("account") ?? "");
    const names = [...new Set([...entries.map((entry) => entry.account), chosen])].filter(Boolean).sort();
    accounts.replaceChildren(option("", "any", chosen), ...names.map((each) => option(each, cut(each, 40), chosen)));
  };
  const passes = (entry) => {
    const { account, method, path, status, remarks, preflights, console: own } = filters.elements,
      wanted = path.value.trim().replace(/\*$/, "");
    return (
      (!account.value || entry.account === account.value) &&
      (!method.value || entry.method === method.value) &&
      target(entry).includes(wanted) &&
      String(entry.status ?? "").startsWith(status.value.trim()) &&
      (!remarks.checked || entry.remarks.length > 0) &&
      (preflights.checked || method.value === "OPTIONS" || !isPreflight(entry)) &&
      (own.checked || !isConsole(entry))
    );
  };
  const pages = h("nav", { class: "line", "aria-label": "Pages" });
  const turnTo = (number, text) =>
    h("button", { type: "button", onclick: () => showPage(number) || shown.scrollIntoView() }, text);
  const showPages = (found) => {
    const count = Math.max(1, Math.ceil(found / PAGE));
    pages.hidden = found === 0;
    pages.replaceChildren(
      ...[
        pageNumber > 1 && turnTo(pageNumber - 1, "Newer"),
        h("span", {}, `Page ${pageNumber} of ${count}, ${found} in all`),
        pageNumber < count && turnTo(pageNumber + 1, "Older"),
      ].filter(Boolean),
    );
    nothing.hidden = found > 0;
    nothing.textContent = entries.length > 0 ? "Nothing matches." : "Nothing so far.";
  };
  const showPage = (number) => {
    const found = entries.filter(passes).reverse();
    pageNumber = number;
    body.replaceChildren(...found.slice((number - 1) * PAGE, number * PAGE).map(row));
    showPages(found.length);
    const kept = [...new FormData(filters)].filter((each) => each[1]);
    history.replaceState(null, "", kept.length > 0 ? `?${new URLSearchParams(kept)}` : location.pathname);
  };
  const clear = async () => {
    await ask("/_mock/journal", "DELETE");
    events.close();
    await redraw();
    say("The journal is empty.");
  };

  const events = new EventSource(`/_mock/journal/events?after=${entries.at(-1)?.number ?? 0}`);
  events.addEventListener("open", () => {
    live.textContent = "Live: new requests appear at the top.";
  });
  events.addEventListener("error", () => {
    live.textContent = "The connection to the mock is lost; it is tried again.";
  });
  events.addEventListener("message", (event) => {
    const entry = JSON.parse(event.data);
    entries.push(entry);
    if (!entries.slice(0, -1).some((each) => each.account === entry.account)) offerAccounts();
    if (!passes(entry)) return;
    showPages(entries.filter(passes).length);
    if (pageNumber > 1) return; // somebody is reading
    body.prepend(row(entry));
    while (body.rows.length > PAGE) body.deleteRow(-1);
  });
  addEventListener("pagehide", () => events.close());
  offerAccounts();
  showPage(1);
  return [
    h(
      "div",
      { class: "line spread" },
      h("h1", { id: "title" }, "Journal"),
      confirmed("Empty the journal", "Yes, forget all requests", clear),
    ),
    archive(),
    filters,
    live,
    shown,
    nothing,
    pages,
  ];
}
