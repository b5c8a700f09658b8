// The overview: where the API answers, its accounts, what is switched, snapshots, and the latest requests.
import {
  ask,
  capitalized,
  confirmed,
  copyButton,
  doing,
  h,
  query,
  say,
  scrolled,
  shortened,
  spelled,
  submitting,
} from "./page.js";
import { archive, forcedList, latest } from "./requests.js";

export async function render({ about, redraw }) {
  const page = Math.max(1, Number(query().get("sandboxes")) || 1);
  const [state, forced, journal] = await Promise.all([
    ask("/_mock/state"),
    ask("/_mock/forced"),
    ask("/_mock/journal"),
  ]);
  const requests = h(
    "section",
    {},
    h("h2", { id: "latest" }, "Latest requests"),
    latest(journal.entries, "latest"),
    about.deployment && journal.entries.length > 0 && archive(),
  );
  if (about.deployment) return [h("h1", {}, "Overview"), inFront(about, state, forced, redraw), requests];
  const [accounts, snapshots] = await Promise.all([ask(`/_mock/accounts?page=${page}`), ask("/_mock/snapshots")]);
  const command = `curl -H 'Authorization: Bearer ${about.key}' '${about.base_url}/api/domains/'`;
  return [
    h("h1", {}, "Overview"),
    h(
      "p",
      { class: "lead" },
      "The API answers at ",
      h("code", {}, about.base_url),
      ". It forgets everything when it stops. Try it:",
    ),
    h(
      "div",
      { class: "line snippet" },
      h("pre", { tabindex: 0 }, h("code", {}, command)),
      copyButton(command, "Copy the command"),
    ),
    h(
      "section",
      {},
      h("h2", { id: "accounts" }, "Accounts"),
      accountsTable(about, accounts.accounts, "accounts", false),
      h(
        "p",
        { class: "quiet" },
        "A key that begins with ",
        h("code", {}, "sandbox-"),
        " opens a private copy of the first account when it is first used: one for each test.",
      ),
      accounts.total > 0 && sandboxes(about, accounts, page),
    ),
    h("div", { class: "columns" }, stateSection(state, forced, redraw), snapshotsSection(snapshots, redraw)),
    requests,
  ];
}

function accountsTable(about, accounts, labelled, areSandboxes) {
  const heads = [
    ...(areSandboxes ? [] : ["Account"]),
    "API key",
    ...about.resources.map((each) => capitalized(spelled(each.name))),
  ];
  const count = (account, resource) =>
    h(
      "td",
      { class: "number" },
      h(
        "a",
        {
          href: `/_mock/console/records/${resource.name}?account=${encodeURIComponent(account.key)}`,
          "aria-label": `${account.totals[resource.name]} ${spelled(resource.name)} of ${account.name}`,
        },
        String(account.totals[resource.name]),
      ),
    );
  return scrolled(
    labelled,
    h(
      "table",
      { class: "accounts" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((text, number) =>
            h(
              "th",
              { scope: "col", class: number > heads.length - 1 - about.resources.length ? "number" : null },
              text,
            ),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        accounts.map((account) =>
          h(
            "tr",
            {},
            !areSandboxes && h("th", { scope: "row" }, account.name),
            h(
              areSandboxes ? "th" : "td",
              { class: "key", scope: areSandboxes ? "row" : null },
              h("code", {}, shortened(account.key, 40)),
              " ",
              copyButton(account.key, `Copy the key of ${account.name}`),
            ),
            about.resources.map((resource) => count(account, resource)),
          ),
        ),
      ),
    ),
  );
}

function sandboxes(about, accounts, page) {
  const size = 25,
    pages = Math.ceil(accounts.total / size),
    few = 5;
  const link = (number, text) => h("a", { class: "button", href: `/?sandboxes=${number}#sandboxes` }, text);
  return h(
    "details",
    { id: "sandboxes", open: accounts.total <= few || query().has("sandboxes") },
    h("summary", { id: "sandbox-keys" }, `${accounts.total} ${accounts.total === 1 ? "sandbox" : "sandboxes"}`),
    accountsTable(about, accounts.sandboxes, "sandbox-keys", true),
    pages > 1 &&
      h(
        "nav",
        { class: "line", "aria-label": "Pages of sandboxes" },
        page > 1 && link(page - 1, "Previous"),
        h("span", {}, `Page ${page} of ${pages}, the latest used first`),
        page < pages && link(page + 1, "Next"),
      ),
  );
}

function switched(state) {
  const codes = (texts) => texts.map((text) => [h("code", {}, text), " "]);
  const pairs = (values) => codes(Object.entries(values).map(([name, value]) => `${name}=${value}`));
  const rows = [
    ["Open", pairs(state.open)],
    ["Grease", state.grease === null ? [] : codes([String(state.grease)])],
    ["Defects", codes(state.defects)],
    ["Conditions", pairs(state.conditions)],
  ].filter((each) => each[1].length > 0);
  return (
    rows.length > 0 &&
    h(
      "dl",
      {},
      rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    )
  );
}

// What is switched and forced, or that nothing is, with a link to change it.
function stateOf(state, forced, redraw, unswitched, invitation) {
  const rows = switched(state);
  const link = (text) => h("a", { href: "/_mock/console/switches" }, text);
  return [
    h("h2", { id: "state" }, "State"),
    rows ? [rows, h("p", {}, link("Change the switches"))] : h("p", {}, unswitched, link(invitation)),
    forced.length > 0 && [h("h3", {}, "Forced answers"), forcedList(forced, redraw)],
  ];
}

function stateSection(state, forced, redraw) {
  const reset = async () => {
    await ask("/_mock/reset", "POST", {});
    await redraw();
    say("Everything is as it was at the start.");
  };
  return h(
    "section",
    {},
    stateOf(state, forced, redraw, "It keeps the contract, with its default choices. ", "Make it slow, wrong or full"),
    confirmed("Reset to the start", "Yes, forget all changes", reset),
  );
}

function snapshotsSection(names, redraw) {
  const path = (name) => `/_mock/snapshots/${encodeURIComponent(name)}`;
  const then = (action, text) => async (given) => {
    await action(given);
    await redraw();
    say(text);
  };
  const keep = (form) =>
    ask(path(form.elements.name.value.trim().replaceAll("/", "-").slice(0, 60) || "snapshot"), "PUT");
  return h(
    "section",
    {},
    h("h2", { id: "snapshots" }, "Snapshots"),
    names.length > 0
      ? h(
          "ul",
          { class: "plain" },
          names.map((name) =>
            h(
              "li",
              { class: "line" },
              h("strong", {}, name),
              h(
                "button",
                {
                  type: "button",
                  "aria-label": `Restore ${name}`,
                  onclick: doing(then(() => ask(`${path(name)}/restore`, "POST"), "The snapshot was restored.")),
                },
                "Restore",
              ),
              h(
                "a",
                { href: path(name), download: `${name}.yaml`, "aria-label": `Download ${name} as a fixture` },
                "Download",
              ),
              confirmed(
                "Delete",
                "Yes, delete",
                then(() => ask(path(name), "DELETE"), "The snapshot was deleted."),
                `Delete ${name}`,
              ),
            ),
          ),
        )
      : h(
          "p",
          { class: "quiet" },
          "None yet. A snapshot is also a file for ",
          h("code", {}, "mock-server --fixture"),
          ".",
        ),
    h(
      "form",
      { class: "line", onsubmit: submitting(then(keep, "The snapshot was kept.")) },
      h(
        "label",
        {},
        "Name ",
        h("input", { name: "name", required: true, maxlength: 60, placeholder: "before-checkout" }),
      ),
      h("button", {}, "Keep a snapshot"),
    ),
  );
}

function inFront(about, state, forced, redraw) {
  const { deployment } = about,
    recorded = deployment.recorded;
  const shown =
    recorded &&
    recorded
      .map(([account, resource, seen, total]) => `${account}, ${resource}: ${seen} of ${total} records`)
      .join("; ");
  return [
    h(
      "p",
      { class: "lead" },
      "What is sent to ",
      h("code", {}, about.base_url),
      " is forwarded to ",
      h("code", {}, deployment.url),
      ", which has the records",
      deployment.read_only && "; writes are refused here",
      ".",
    ),
    h(
      "section",
      {},
      stateOf(state, forced, redraw, "Requests and answers pass as they are. ", "Make it slow or failing"),
      h(
        "dl",
        {},
        h("dt", {}, "Page links"),
        h("dd", {}, deployment.rewrite_links ? "lead here" : "are left as the deployment writes them"),
        h("dt", {}, "Certificates"),
        h("dd", {}, deployment.insecure ? "are not checked: --insecure" : "are checked"),
        recorded && [h("dt", {}, "Recorded"), h("dd", {}, shown || "nothing so far")],
      ),
    ),
  ];
}
