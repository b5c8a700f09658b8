// The console: finds the page that the address names, and draws it. Each page is a module beside this one.
import { ask, h, Problem, repeatWhatWasSaid } from "./page.js";

const PAGES = [
  [/^\/$/, "overview"],
  [/^\/_mock\/console\/records(?:\/([^/]+)(?:\/([^/]+))?)?$/, "records"],
  [/^\/_mock\/console\/journal$/, "journal"],
  [/^\/_mock\/console\/journal\/(\d+)$/, "entry"],
  [/^\/_mock\/console\/switches$/, "switches"],
  [/^\/_mock\/console\/contract$/, "contract"],
];

async function draw() {
  const main = document.getElementById("main");
  try {
    const about = await ask("/_mock/about");
    const navigation = document.querySelectorAll("nav[aria-label=Console] a");
    for (const link of navigation) {
      const path = new URL(link.href).pathname;
      const isHere = path === "/" ? location.pathname === "/" : location.pathname.startsWith(path);
      if (isHere) link.setAttribute("aria-current", "page");
      if (about.deployment && path.endsWith("/records")) link.hidden = true;
    }
    const [name, found] =
      PAGES.map(([pattern, page]) => [page, pattern.exec(location.pathname)]).find((each) => each[1]) ?? [];
    if (!name) throw new Problem("The console has no such page.");
    const { render } = await import(`./${name}.js`);
    const redraw = async () => {
      const focused = document.activeElement;
      main.replaceChildren(
        ...(await render({
          about,
          main,
          redraw,
          parts: found.slice(1).map((part) => part && decodeURIComponent(part)),
        })),
      );
      if (focused && !focused.isConnected) main.focus();
    };
    await redraw();
    const heading = document.querySelector("#main h1");
    document.title = heading && name !== "overview" ? `${heading.textContent} – Mock server` : "Mock server";
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  } catch (error) {
    main.replaceChildren(
      h("h1", {}, "This page cannot be shown"),
      h("p", { class: "said bad", role: "alert" }, error.message),
      h("p", {}, h("a", { href: "/" }, "The overview")),
    );
    if (!(error instanceof Problem)) throw error;
  }
}

repeatWhatWasSaid();
draw();
