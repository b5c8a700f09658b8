// Switches: forced answers, clocks, conditions, defects and open points.
import { ask, capitalized, h, marked, numberIn, option, Problem, say, submitting } from "./page.js";
import { FAILED, forcedList } from "./requests.js";

export async function render({ about, redraw }) {
  const isMock = !about.deployment;
  const [state, forced, defects, points] = await Promise.all([
    ask("/_mock/state"),
    ask("/_mock/forced"),
    isMock ? ask("/_mock/defects") : [],
    isMock ? ask("/_mock/open-points") : [],
  ]);
  const codes = isMock
    ? "`Prefer: code=429`, `delay=2`, `lost=after` or `defect=NAME`"
    : "`Prefer: code=429`, `delay=2` or `lost=after`";
  return [
    h("h1", {}, "Switches"),
    h(
      "p",
      { class: "lead" },
      isMock
        ? "Conditions, defects and open points hold for all accounts at once, and all records are kept."
        : "Trouble between clients and the deployment; it holds for all accounts at once.",
      " For one request alone, send ",
      marked(codes),
      ".",
    ),
    forcedSection(forced, redraw),
    isMock && clockSection(),
    switchesForm(about, state, defects, points, redraw),
  ].filter(Boolean);
}

function forcedSection(forced, redraw) {
  const input = (label, name, more) => h("label", {}, `${label} `, h("input", { name, ...more }));
  const choice = (label, name, options) =>
    h(
      "label",
      {},
      `${label} `,
      h(
        "select",
        { name },
        options.map(([value, text]) => h("option", { value }, text)),
      ),
    );
  const force = async (form) => {
    await ask("/_mock/forced", "POST", effectIn(form.elements));
    await redraw();
    say("The answer is forced.");
  };
  return h(
    "section",
    {},
    h("h2", { id: "forced" }, "Forced answers"),
    forced.length > 0 && forcedList(forced, redraw),
    h(
      "form",
      { novalidate: true, onsubmit: submitting(force) },
      h(
        "fieldset",
        { class: "line" },
        h("legend", {}, "Which requests"),
        choice("Method", "method", [
          ["*", "any"],
          ["GET", "GET"],
          ["POST", "POST"],
          ["DELETE", "DELETE"],
        ]),
        input("Path", "path", { placeholder: "/api/domains*" }),
        input("Account", "account", { placeholder: "any" }),
        input("Times", "times", { size: 12, placeholder: "1; * for ever" }),
        input("Seconds", "seconds", { size: 6, inputmode: "decimal", placeholder: "any" }),
        input("One in", "every", { size: 4, inputmode: "numeric", placeholder: "1" }),
      ),
      h(
        "fieldset",
        { class: "line" },
        h("legend", {}, "What they get"),
        input("Status", "status", { size: 4, inputmode: "numeric", placeholder: "503" }),
        input("Retry-After in s", "wait", { size: 6, inputmode: "numeric" }),
        input("Refused field", "field", { size: 12, placeholder: "host" }),
        input("Body, as JSON", "body", { placeholder: '{"errors": []}' }),
        input("Delay in s", "delay", { size: 12, placeholder: "2 or 0.2-1.5" }),
        choice("Answer lost", "lost", [
          ["", "no"],
          ["before", "before the work"],
          ["after", "after the work"],
        ]),
        input("Or a condition", "condition", { size: 16, placeholder: "latency=0.5" }),
      ),
      h("p", { class: "line" }, h("button", {}, "Force")),
    ),
  );
}

// An answer to force, as the control plane takes it.
function effectIn(inputs) {
  const text = (name) => inputs[name].value.trim();
  const given = { method: text("method"), path: text("path") || "*", account: text("account") || "*" };
  const prefer = ["delay", "lost"]
    .filter(text)
    .map((name) => `${name}=${text(name)}`)
    .join(", ");
  if (prefer) given.prefer = prefer;
  for (const name of ["field", "condition"]) if (text(name)) given[name] = text(name);
  for (const name of ["status", "every"]) if (text(name)) given[name] = numberIn(inputs[name], true);
  if (text("seconds")) given.seconds = numberIn(inputs.seconds);
  if (text("wait")) given.headers = { "Retry-After": text("wait") };
  if (text("body")) given.body = jsonIn(inputs.body);
  else if (!text("field") && given.status >= FAILED)
    given.body = { errors: [{ title: "The console asked for this answer.", status: given.status }] };
  if (text("times")) given.times = text("times") === "*" ? null : numberIn(inputs.times, true);
  return given;
}

function jsonIn(input) {
  try {
    return JSON.parse(input.value);
  } catch (error) {
    const problem = new Problem(`This is not JSON: ${error.message}`);
    problem.input = input;
    throw problem;
  }
}

function clockSection() {
  const set = async (form) => {
    await ask("/_mock/clock", "POST", { now: form.elements.now.value.trim() });
    say("The clocks were set.");
  };
  return h(
    "section",
    {},
    h("h2", { id: "clock" }, "Clock"),
    h(
      "form",
      { class: "line", onsubmit: submitting(set) },
      h(
        "label",
        {},
        "Time, a second before that of the next write ",
        h("input", { name: "now", required: true, placeholder: "2026-03-02 09:00:00" }),
      ),
      h("button", {}, "Set the clocks"),
    ),
  );
}

function switchesForm(about, state, defects, points, redraw) {
  const isMock = !about.deployment;
  const change = async (form) => {
    await ask("/_mock/state", "PATCH", switchesIn(form.elements, about, defects, points, isMock));
    await redraw();
    say("Switched. All records were kept.");
  };
  return h(
    "form",
    { novalidate: true, onsubmit: submitting(change) },
    h(
      "section",
      {},
      h("h2", { id: "conditions" }, "Conditions"),
      h(
        "p",
        { class: "quiet" },
        "Trouble around a service that keeps all rules. N is what the field holds; an empty one is off.",
      ),
      h(
        "div",
        { class: "grid" },
        about.conditions.map((each) => conditionField(each, state.conditions[each.name])),
      ),
    ),
    isMock && searchFor(),
    isMock && defectsSection(defects, state.defects),
    isMock && pointsSection(points, state),
    h(
      "p",
      { class: "bar" },
      h("button", { class: "primary" }, "Switch"),
      isMock && h("span", { class: "quiet" }, " conditions, defects and open points, all at once"),
    ),
  );
}

function conditionField({ name, what, measures }, measure) {
  const id = `condition.${name}`;
  const isSwitch = measures.length === 1 && measures[0] === 0;
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, h("strong", {}, name), " ", marked(what)),
    isSwitch
      ? h(
          "select",
          { id, name: id, "data-word": name },
          option("", "off", measure === undefined ? "" : "0"),
          option("0", "on", measure === undefined ? "" : "0"),
        )
      : h("input", {
          id,
          name: id,
          "data-word": name,
          inputmode: "decimal",
          size: 6,
          placeholder: `off, or ${measures[0]}`,
          value: measure,
        }),
  );
}

// Hides what does not hold the words that somebody types, and opens what does.
function searchFor() {
  const status = h("span", { class: "quiet", role: "status" });
  const search = (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let hits = 0;
    for (const group of document.querySelectorAll("details.group")) {
      let found = 0;
      for (const each of group.querySelectorAll(".grid > *")) {
        each.hidden = !words.every((word) => each.textContent.toLowerCase().includes(word));
        found += each.hidden ? 0 : 1;
      }
      group.hidden = found === 0;
      group.open = words.length > 0 ? found > 0 : group.querySelector(":checked:not(option)") !== null;
      hits += found;
    }
    status.textContent = words.length > 0 ? `${hits} found` : "";
    if (words.length > 0) event.target.closest("p").scrollIntoView(); // what it finds is below
  };
  return h(
    "p",
    { class: "line", role: "search" },
    h(
      "label",
      {},
      "Search defects and open points ",
      h("input", { type: "search", size: 30, placeholder: "total", oninput: search }),
    ),
    status,
  );
}

function defectsSection(defects, on) {
  const areas = new Map();
  for (const each of defects) {
    const area = each.rule.split(".")[0];
    areas.set(area, [...(areas.get(area) ?? []), each]);
  }
  const box = ({ name, what }) =>
    h(
      "label",
      { class: "check" },
      h("input", { type: "checkbox", name: `defect.${name}`, "data-word": name, checked: on.includes(name) }),
      " ",
      h("span", {}, h("strong", {}, name), " ", marked(what)),
    );
  return h(
    "section",
    {},
    h("h2", { id: "defects" }, "Defects"),
    h(
      "p",
      { class: "quiet" },
      `Each breaks one rule. ${on.length} on at present`,
      on.map((name, number) => [number === 0 ? ": " : ", ", h("code", {}, name)]),
      ".",
    ),
    [...areas].map(([area, every]) =>
      h(
        "details",
        { class: "group", open: every.some((each) => on.includes(each.name)) },
        h("summary", {}, capitalized(area), " ", h("span", { class: "quiet" }, String(every.length))),
        h("div", { class: "grid" }, every.map(box)),
      ),
    ),
  );
}

function pointsSection(points, state) {
  const isGreased = state.grease !== null,
    chosen = Object.keys(state.open);
  const field = (point) => {
    const id = `open.${point.name}`,
      value = state.open[point.name] ?? "";
    return h(
      "div",
      { class: "field" },
      h("label", { for: id }, h("strong", {}, point.name), " ", marked(point.statement)),
      h(
        "select",
        { id, name: id, "data-word": point.name },
        option("", isGreased ? `by the grease: ${point.chosen}` : `by default: ${point.default}`, value),
        Object.entries(point.values).map(([name, meaning]) => option(name, `${name}: ${meaning}`, value)),
      ),
    );
  };
  return h(
    "section",
    {},
    h("h2", { id: "points" }, "Open points"),
    h(
      "p",
      { class: "quiet" },
      "What the specification leaves to a service. A seed of grease chooses by chance where nothing is chosen here.",
    ),
    h(
      "p",
      {},
      h(
        "label",
        {},
        "Grease, a seed ",
        h("input", { name: "grease", size: 8, inputmode: "numeric", value: state.grease }),
      ),
    ),
    h(
      "details",
      { class: "group", open: chosen.length > 0 },
      h("summary", {}, `${points.length} points, ${chosen.length} chosen`),
      h("div", { class: "grid" }, points.map(field)),
    ),
  );
}

function switchesIn(inputs, about, defects, points, isMock) {
  const conditions = {},
    open = {};
  for (const { name } of about.conditions) {
    const measure = numberIn(inputs[`condition.${name}`]);
    if (measure !== undefined) conditions[name] = measure;
  }
  if (!isMock) return { conditions };
  for (const { name } of points) if (inputs[`open.${name}`].value) open[name] = inputs[`open.${name}`].value;
  return {
    conditions,
    open,
    defects: defects.map((each) => each.name).filter((name) => inputs[`defect.${name}`].checked),
    grease: numberIn(inputs.grease, true) ?? null,
  };
}
