// Runs one command for start.js, and ends it, with all that it started, once the process that wanted it is gone.
// Only a process of its own sees every way in which another can end, SIGKILL included.
import { spawn } from "node:child_process";

const SECONDS_TO_FINISH = 5;
const SECONDS_FOR_LAST_WORDS = 1;
const LONGEST = 2000; // characters of what the command said
const LONGEST_LINE = 100_000; // characters of a line that has not ended

const [seconds, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
let said = "";
let unfinished = "";
let hasEnded = false;

/** @param {object} message */
const tell = (message) => process.connected && process.send?.(message, undefined, undefined, () => {});
/** @param {string} why */
const fail = (why) => tell({ why, said: `${said}${unfinished}`.slice(-LONGEST).trim() });
/** @param {string} text */
const note = (text) => { said = `${said}${text}`.slice(-LONGEST); };
/** @param {NodeJS.Signals} signal */
const end = (signal) => process.kill(process.platform === "win32" ? Number(child.pid) : -process.pid, signal);

/** What a line says in JSON; undefined if it says nothing in it.
 * @param {string} line */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Ends what is left of the group, which this process leads and so ends with. */
function leave() {
  if (process.platform !== "win32" || !hasEnded) end("SIGKILL");
  process.exit();
}

setTimeout(fail, Number(seconds) * 1000, `was not ready after ${seconds} seconds`).unref();
child.stderr.on("data", note);
child.stdout.setEncoding("utf8").on("data", (text) => {
  const lines = `${unfinished}${text}`.split("\n");
  unfinished = String(lines.pop()).slice(-LONGEST_LINE);
  for (const line of lines) {
    const ready = parsed(line);
    if (ready?.base_url) tell({ ready });
    else note(`${line}\n`);
  }
});
child.on("error", (error) => {
  hasEnded = true;
  fail("code" in error && error.code === "ENOENT" ? "not found" : error.message);
});
child.on("exit", (status, signal) => {
  const why = signal ? `was ended by ${signal}` : `ended with status ${status}`;
  const timer = setTimeout(fail, SECONDS_FOR_LAST_WORDS * 1000, why); // what it started may keep the pipes open
  child.on("close", () => {
    clearTimeout(timer);
    hasEnded = true;
    fail(why);
  });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {}); // end() sends them to the group
process.on("disconnect", () => {
  if (hasEnded) leave();
  setTimeout(leave, SECONDS_TO_FINISH * 1000);
  child.on("close", leave);
  end("SIGTERM");
});
