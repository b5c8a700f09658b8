// The records of an account: a list with search, sort and pages, and a form for each.
import {
  ask,
  capitalized,
  confirmed,
  cut,
  doing,
  h,
  option,
  Problem,
  query,
  say,
  sayOn,
  scrolled,
  send,
  shortened,
  spelled,
  submitting,
} from "./page.js";

const PAGE_SIZES = ["10", "25", "100", "1000"];
const LONG = ["description", "custom_css", "custom_js", "ads_header", "ads_footer"]; // texts of several lines
const BASE = "/_mock/console/records";

export async function render({ about, redraw, parts: [name, identifier] }) {
  const accounts = await ask("/_mock/accounts"),
    given = query().get("account") ?? about.key;
  const known = [...accounts.accounts, ...accounts.sandboxes];
  const account = known.find((each) => each.key === given) ?? { key: given, name: given };
  if (known.every((each) => each.key !== given)) known.push(account);
  const resource = about.resources.find((each) => each.name === (name ?? about.resources[0].name));
  if (!resource)
    return [
      h("h1", {}, "Records"),
      h("p", { class: "said bad", role: "alert" }, `There is no resource "${name}".`),
      h("p", {}, h("a", { href: BASE }, "All records")),
    ];
  const place = { about, redraw, account, resource, known };
  if (identifier === undefined) return list(place);
  if (identifier === "new") return form(place, null);
  try {
    return form(place, await ask(recordsUrl(place, identifier)));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [
      h("h1", {}, `${capitalized(spelled(resource.name))}, record ${identifier}`),
      h("p", { class: "said bad", role: "alert" }, error.message),
      h("p", {}, h("a", { href: listUrl(place) }, `All ${spelled(resource.name)} of `, shortened(account.name, 40))),
    ];
  }
}

const recordsUrl = ({ account, resource }, identifier = null, more = {}) =>
  `/_mock/records/${resource.name}${identifier === null ? "" : `/${identifier}`}?${new URLSearchParams({ account: account.key, ...more })}`;
const listUrl = ({ account, resource }, more = {}) =>
  `${BASE}/${resource.name}?${new URLSearchParams({ account: account.key, ...more })}`;
const recordUrl = ({ account, resource }, identifier) =>
  `${BASE}/${resource.name}/${identifier}?${new URLSearchParams({ account: account.key })}`;

async function list(place) {
  const { about, account, resource, redraw, known } = place;
  const view = Object.fromEntries(["search", "sort", "size", "page"].map((each) => [each, query().get(each) ?? ""]));
  const size = Number(view.size) || 25,
    page = Number(view.page) || 1;
  const viewed = new URLSearchParams(Object.entries(view).filter((each) => each[1]));
  const found = await ask(recordsUrl(place, null, Object.fromEntries(viewed)));
  const pages = Math.max(1, Math.ceil(found.total / size));
  const change = async (more) => {
    const next = new URLSearchParams({ account: account.key, ...view, page: "", ...more });
    for (const [key, value] of [...next]) if (!value) next.delete(key);
    history.replaceState(null, "", `${location.pathname}?${next}`);
    await redraw();
  };
  const search = h("input", {
    type: "search",
    name: "search",
    value: view.search,
    oninput: debounced(async () => {
      await change({ search: search.value });
      const again = document.querySelector("input[name=search]");
      again.focus();
      again.setSelectionRange(again.value.length, again.value.length);
    }),
  });
  const again = async () => {
    await ask(`/_mock/accounts/${encodeURIComponent(account.key)}/reset`, "POST", {});
    await redraw();
    say("This account is as it was at the start.");
  };
  const pageLink = (number, text) =>
    h("a", { class: "button", href: listUrl(place, { ...Object.fromEntries(viewed), page: number }) }, text);
  let nothing = view.search ? "Nothing matches." : "None yet.";
  if (found.total > 0)
    nothing = ["This page is past the last. ", h("a", { href: listUrl(place) }, "Back to the first")];
  const title = capitalized(spelled(resource.name));
  return [
    h(
      "nav",
      { class: "tabs", "aria-label": "Kinds of record" },
      about.resources.map((each) =>
        h(
          "a",
          { href: listUrl({ account, resource: each }), "aria-current": each === resource ? "page" : null },
          capitalized(spelled(each.name)),
        ),
      ),
    ),
    h(
      "div",
      { class: "line spread" },
      h("h1", { id: "title" }, title, " ", h("small", {}, "of ", shortened(account.name, 40))),
      h("a", { class: "button", href: recordUrl(place, "new") }, "Create"),
    ),
    h(
      "div",
      { class: "line", role: "search", "aria-label": "Find records" },
      h(
        "label",
        {},
        "Account ",
        h(
          "select",
          {
            name: "account",
            onchange: (event) => location.assign(listUrl({ resource, account: { key: event.target.value } })),
          },
          known.map((each) => option(each.key, cut(each.name, 40), account.key)),
        ),
      ),
      h("label", {}, "Search ", search),
      h(
        "label",
        {},
        "On a page ",
        h(
          "select",
          { name: "size", onchange: (event) => change({ size: event.target.value }) },
          PAGE_SIZES.map((each) => option(each, each, String(size))),
        ),
      ),
    ),
    found.records.length > 0
      ? scrolled("title", recordsTable(place, found.records, view.sort, change))
      : h("p", { class: "quiet" }, nothing),
    found.records.length > 0 &&
      h(
        "nav",
        { class: "line", "aria-label": "Pages" },
        page > 1 && pageLink(page - 1, "Previous"),
        h("span", {}, `Page ${page} of ${pages}, ${found.total} in all`),
        page < pages && pageLink(page + 1, "Next"),
      ),
    h("div", { class: "apart" }, confirmed("Start this account again", "Yes, forget its changes", again)),
  ].filter(Boolean);
}

// Waits until somebody has stopped typing.
function debounced(action) {
  let waiting;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(action, 200);
  };
}

function recordsTable(place, records, sort, change) {
  const { resource } = place,
    column = sort.replace(/^-/, "");
  const kind = (name) =>
    name === "id" ? "number" : name === resource.label ? "label" : name.endsWith("datetime") ? "time" : null;
  const direction = (name) => (name !== column ? null : sort.startsWith("-") ? "descending" : "ascending");
  const arrow = { ascending: " ▲", descending: " ▼" };
  const head = (name) =>
    h(
      "th",
      { scope: "col", class: kind(name), "aria-sort": direction(name) },
      h(
        "button",
        {
          type: "button",
          class: "sort",
          onclick: () => change({ sort: sort === name ? `-${name}` : sort === `-${name}` ? "" : name }),
        },
        name,
        h("span", { "aria-hidden": "true" }, arrow[direction(name)] ?? ""),
      ),
    );
  const remove = (record) => doing(() => deleteWithUndo(place, record));
  const named = (record) => String(record.read[resource.label] || record.id);
  return h(
    "table",
    { class: "records" },
    h("thead", {}, h("tr", {}, resource.shape.map(head), h("th", { scope: "col" }, "Actions"))),
    h(
      "tbody",
      {},
      records.map((record) =>
        h(
          "tr",
          {},
          resource.shape.map((name) => h("td", { class: kind(name), "data-name": name }, cell(place, record, name))),
          h(
            "td",
            {},
            h(
              "button",
              {
                type: "button",
                class: "danger small",
                "aria-label": `Delete ${named(record)}`,
                onclick: remove(record),
              },
              "Delete",
            ),
          ),
        ),
      ),
    ),
  );
}

function cell(place, record, name) {
  const value = record.read[name];
  if (name === place.resource.label) return h("a", { href: recordUrl(place, record.id) }, String(value || "(empty)"));
  if (name === "color")
    return h(
      "span",
      { class: "swatch" },
      h("input", { type: "color", value, disabled: true, "aria-hidden": "true", tabindex: -1 }),
      String(value),
    );
  if (value === true || value === false) return value ? "yes" : "no";
  if (value === null || value === undefined) return h("span", { class: "quiet" }, "never");
  if (typeof value === "object")
    return Object.entries(value).map(([key, text]) =>
      h("div", {}, h("span", { class: "quiet" }, `${key} `), String(text)),
    );
  return String(value);
}

const applies = (field, values) =>
  field.applies_when === null || values[field.applies_when[0]] === field.applies_when[1];
const asText = (value) => (value === true ? "1" : value === false ? "0" : String(value ?? ""));

// Deletes a record, and offers to make it again: the API gives no id twice.
async function deleteWithUndo(place, record) {
  const { about, account, resource } = place;
  await send(about, account.key, "DELETE", resource.paths.delete.replace("{id}", record.id));
  await place.redraw();
  say(
    `Deleted ${record.read[resource.label] || record.id}.`,
    doing(async () => {
      const creation = new FormData(),
        update = new FormData();
      for (const field of resource.fields) {
        const value = record.values[field.name];
        if (value === null || value === undefined || !applies(field, record.values)) continue;
        const form = field.operations.includes("create") ? creation : update;
        if (field.kind !== "file") form.append(field.name, asText(value));
        else form.append(field.name, await (await fetch(`/_mock/files/${value.key}`)).blob(), value.name);
      }
      await send(about, account.key, "POST", resource.paths.create, creation);
      const [copy] = (await ask(recordsUrl(place, null, { sort: "-id", size: "1" }))).records;
      if ([...update].length > 0)
        await send(about, account.key, "POST", resource.paths.update.replace("{id}", copy.id), update);
      await place.redraw();
      say(`It is there again, as record ${copy.id}: an id is not used twice.`);
    }),
  );
}

function form(place, record) {
  const { about, account, resource } = place,
    operation = record ? "update" : "create",
    values = record?.values ?? {};
  const fields = resource.fields.filter((field) => field.operations.includes(operation));
  const show = (element) => {
    // only what applies to the chosen type
    const chosen = Object.fromEntries(fields.map((field) => [field.name, element.elements[field.name]?.value]));
    for (const field of fields) {
      const shown = applies(field, chosen),
        input = element.elements[field.name];
      input.closest(".field").hidden = !shown;
      input.disabled = !shown;
    }
  };
  const save = async (element) => {
    const sent = new FormData();
    for (const field of fields) {
      const input = element.elements[field.name];
      if (input.disabled) continue;
      if (field.kind === "file") for (const file of input.files) sent.append(field.name, file);
      else if (input.value !== asText(values[field.name])) sent.append(field.name, input.value);
    }
    await send(about, account.key, "POST", resource.paths[operation].replace("{id}", record?.id), sent);
    sayOn(listUrl(place), record ? "Saved." : "Created.");
  };
  const element = h(
    "form",
    { class: "fields", novalidate: true, onsubmit: submitting(save), onchange: (event) => show(event.currentTarget) },
    fields.map((field) => fieldOf(field, values, operation)),
    h(
      "p",
      { class: "line" },
      h("button", { class: "primary" }, record ? "Save" : "Create"),
      h("span", { class: "quiet" }, "Sent to the API as a form, like any client's."),
    ),
  );
  show(element);
  const remove = async () => {
    await send(about, account.key, "DELETE", resource.paths.delete.replace("{id}", record.id));
    sayOn(listUrl(place), `Deleted ${record.read[resource.label] || record.id}.`);
  };
  return [
    h("p", {}, h("a", { href: listUrl(place) }, `All ${spelled(resource.name)} of `, shortened(account.name, 40))),
    h(
      "h1",
      {},
      record
        ? `${capitalized(spelled(resource.name))}, record ${record.id}`
        : `Create a ${spelled(resource.name).replace(/s$/, "")}`,
    ),
    record &&
      h(
        "p",
        { class: "quiet" },
        `Created ${record.created}, ${record.updated ? `updated ${record.updated}` : "never updated"}.`,
      ),
    element,
    record && h("div", { class: "apart" }, confirmed("Delete this record", "Yes, delete it", remove)),
  ].filter(Boolean);
}

function fieldOf(field, values, operation) {
  const { name, kind } = field,
    value = asText(values[name]);
  const more = [
    field.required && operation === "create" && "(required)",
    field.applies_when && `(for ${field.applies_when.join(" ")})`,
  ].filter(Boolean);
  let input = h("input", { id: name, name, value, inputmode: kind === "integer" ? "numeric" : null }),
    picture = null;
  if (field.values.length > 0)
    input = h(
      "select",
      { id: name, name },
      field.values.map((each) => option(each, each, value || field.values[0])),
    );
  else if (kind === "boolean")
    input = h(
      "select",
      { id: name, name },
      value === "" && option("", "not sent", value),
      option("1", "yes (1)", value),
      option("0", "no (0)", value),
    );
  else if (LONG.includes(name)) input = h("textarea", { id: name, name, rows: 3 }, value);
  else if (kind === "file") {
    input = h("input", { type: "file", id: name, name, accept: "image/*" });
    const file = values[name];
    if (file)
      picture = h(
        "figure",
        {},
        h("img", { src: `/_mock/files/${file.key}`, alt: `${name}: ${file.name}` }),
        h("figcaption", {}, `${file.name}, ${file.media_type}, ${file.size} bytes`),
      );
  }
  return h(
    "div",
    { class: "field" },
    h(
      "label",
      { for: name },
      name,
      more.map((text) => [" ", h("span", { class: "quiet" }, text)]),
    ),
    picture,
    input,
  );
}
