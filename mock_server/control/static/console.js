"use strict";

// Shows requests in the journal as they come; without this script, a reload does.
const body = document.getElementById("entries");
const live = document.getElementById("live");
const most = 200;

function cell(name, ...children) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

function labelled(className, text) {
  const element = cell("span", text);
  element.className = className;
  return element;
}

function row(entry) {
  const target = entry.query ? `${entry.path}?${entry.query}` : entry.path;
  const link = cell("a", labelled("method", entry.method), ` ${target}`);
  link.href = `/_mock/console/journal/${entry.number}`;
  const head = cell("th", link);
  head.scope = "row";
  const failed = entry.broken || entry.status >= 400;
  const status = labelled(`status ${failed ? "bad" : "good"}`, entry.broken || String(entry.status));
  const at = cell("td", entry.time.slice(11, 19));
  at.className = "time";
  at.title = entry.time;
  const time = cell("td", String(entry.milliseconds));
  time.className = "number";
  const remarks = entry.remarks.map((remark) => {
    const paragraph = cell("p", remark.what);
    paragraph.className = "remark";
    return paragraph;
  });
  const marks = [];
  if (entry.own) marks.push("by the proxy");
  if (entry.forced) marks.push("forced");
  else if ("Preference-Applied" in entry.answer_headers) marks.push("preferred");
  const answered = cell("td", status, ...marks.flatMap((mark) => [" ", labelled("quiet", mark)]));
  return cell("tr", at, head, answered, cell("td", entry.account || "none"), time, cell("td", ...remarks));
}

const asked = new URLSearchParams(location.search);
const wanted = new URLSearchParams([...asked].filter(([name, value]) => value && !["done", "preflights"].includes(name)));
const showsPreflights = asked.has("preflights") || asked.get("method") === "OPTIONS";
const events = new EventSource(`/_mock/journal/events?${wanted}`);
events.addEventListener("open", () => { live.textContent = "Live: new requests appear at the top."; });
events.addEventListener("error", () => { live.textContent = "The connection to the mock is lost; it is tried again."; });
events.addEventListener("message", (event) => {
  const entry = JSON.parse(event.data);
  if (!showsPreflights && entry.method === "OPTIONS" && "Access-Control-Request-Method" in entry.headers) return;
  body.prepend(row(entry));
  while (body.rows.length > most) body.deleteRow(-1);
});
window.addEventListener("pagehide", () => events.close());
