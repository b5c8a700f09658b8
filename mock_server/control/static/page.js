// What all pages of the console share: elements, requests to the mock, and messages.

export class Problem extends Error {
  constructor(message, field = "") {
    super(message);
    this.field = field;
  }
}

// An element; attributes that begin with "on" are listeners, and children that are null, false or empty are left out.
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(
    ...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false && each !== ""),
  );
  return element;
}

// A text with what stands between backticks as code.
export function marked(text) {
  return text.split("`").map((part, number) => (number % 2 ? h("code", {}, part) : part));
}

// What the control plane answers, parsed; it throws a Problem with the reason if it refuses.
export async function ask(path, method = "GET", json = undefined) {
  const body =
    json === undefined ? {} : { body: JSON.stringify(json), headers: { "Content-Type": "application/json" } };
  let answer;
  try {
    answer = await fetch(path, { method, ...body });
  } catch {
    throw new Problem("The mock does not answer. Is it still running?");
  }
  const text = await answer.text();
  if (!answer.ok) throw problemIn(answer.status, text);
  return answer.headers.get("Content-Type")?.startsWith("application/json") ? JSON.parse(text) : text;
}

// Sends a form to the API as any client does; it throws a Problem if that reports an error, with whatever status.
export async function send(about, key, method, path, form = undefined) {
  let answer, text;
  try {
    const headers = { Authorization: `Bearer ${key}` };
    answer = await fetch(about.base_path + path, { method, headers, body: form, credentials: "omit" });
    text = await answer.text();
  } catch {
    throw new Problem("The connection was closed without an answer, as a switch or a forced answer has it.");
  }
  const problem = problemIn(answer.status, text);
  if (!answer.ok || problem.field !== null)
    throw new Problem(`The API answered ${answer.status}: ${problem.message}`, problem.field ?? "");
}

// The error that an answer reports; its field is null if it reports none.
function problemIn(status, text) {
  try {
    const error = JSON.parse(text).errors[0];
    return new Problem(error.title, error.field ?? "");
  } catch {
    return new Problem(text.slice(0, 200) || `status ${status}, with no body`, null);
  }
}

// Shows a message in view until it is dismissed, with a button if there is something that can be undone.
export function say(text, undo = null, isRefusal = false) {
  const said = document.getElementById("said");
  const message = isRefusal ? { class: "said line bad", role: "alert" } : { class: "said line" };
  said.replaceChildren(
    h(
      "div",
      message,
      h("span", {}, text),
      undo && h("button", { type: "button", onclick: undo }, "Undo"),
      h("button", { type: "button", class: "dismiss", "aria-label": "Dismiss", onclick: () => said.replaceChildren() }),
    ),
  );
}

// Shows a message on the next page.
export function sayOn(path, text) {
  sessionStorage.setItem("said", text);
  location.assign(path);
}

export function repeatWhatWasSaid() {
  const text = sessionStorage.getItem("said");
  sessionStorage.removeItem("said");
  if (text) say(text);
}

// Does what a button asks for, and shows a refusal.
export function doing(action) {
  return async (event) => {
    event?.preventDefault();
    try {
      await action(event);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.message, null, true);
    }
  };
}

// A button that asks once more.
export function confirmed(text, sure, action, label = null) {
  const about = label ?? text;
  return h(
    "details",
    { class: "confirm" },
    h("summary", { "aria-label": about }, text),
    h(
      "button",
      { type: "button", class: "danger", "aria-label": label && `${sure}: ${label}`, onclick: doing(action) },
      sure,
    ),
  );
}

export function copyButton(text, label, shown = "Copy") {
  const button = h(
    "button",
    { type: "button", class: "small", "aria-label": label, hidden: !navigator.clipboard },
    shown,
  );
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    button.setAttribute("aria-label", "Copied");
  });
  return button;
}

// Cuts a key or a name in the middle if it is long.
export function cut(text, most = 28) {
  const half = Math.floor((most - 1) / 2);
  return text.length <= most ? text : `${text.slice(0, half)}…${text.slice(-half)}`;
}

// A key or a name, cut in the middle if it is long; the whole of it is its title.
export function shortened(text, most = 28) {
  return text.length <= most ? text : h("span", { title: text }, cut(text, most));
}

export const spelled = (name) => name.replaceAll("-", " ");
export const capitalized = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const query = () => new URLSearchParams(location.search);

// A table that scrolls sideways, also by the keyboard, named by its heading.
export function scrolled(labelled, table) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-labelledby": labelled }, table);
}

export function option(value, text, chosen) {
  return h("option", { value, selected: value === chosen }, text);
}

// Shows a refusal next to the field that it names, or at the top of a form.
export function showProblem(form, problem, field = null) {
  clearProblems(form);
  const input =
    field ??
    [...form.elements].find((each) => each.name && problem.field === each.name) ??
    [...form.elements].find(
      (each) =>
        each.name && new RegExp(`(^|[^\\w-])${each.dataset.word ?? each.name}($|[^\\w-])`).test(problem.message),
    );
  const told = h("p", { class: "wrong", role: "alert" }, problem.message);
  if (input) {
    told.id = `${input.id || input.name}-problem`;
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", told.id);
    for (let at = input.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    (input.closest("label, .field") ?? input).append(told);
    input.focus();
  } else form.prepend(told);
}

export function clearProblems(form) {
  for (const each of form.querySelectorAll(".wrong")) each.remove();
  for (const each of form.querySelectorAll("[aria-invalid]")) {
    each.removeAttribute("aria-invalid");
    each.removeAttribute("aria-describedby");
  }
}

// Does what a form asks for, and shows a refusal in it.
export function submitting(action) {
  return async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    clearProblems(form);
    try {
      await action(form);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      showProblem(form, error, error.input);
    }
  };
}

// The number in a field, or undefined if it is empty.
export function numberIn(input, isWhole = false) {
  const text = input.value.trim();
  if (!text) return undefined;
  const number = Number(text);
  if (Number.isFinite(number) && (!isWhole || Number.isInteger(number))) return number;
  const problem = new Problem(`"${text}" is not ${isWhole ? "a whole number" : "a number"}.`);
  problem.input = input;
  throw problem;
}
