// The contract, to read and to try out, with Swagger UI.
import { h } from "./page.js";

const SWAGGER = "/_mock/swagger/swagger-ui";

function loaded(element) {
  return new Promise((resolve, reject) => {
    element.addEventListener("load", resolve);
    element.addEventListener("error", reject);
    document.head.append(element);
  });
}

export async function render({ about, main }) {
  const link = (path) => h("a", { href: path }, path),
    { base_path: prefix, key } = about;
  const place = h("div", { id: "contract", class: "swagger" });
  await loaded(h("link", { rel: "stylesheet", href: `${SWAGGER}.css` }));
  await loaded(h("script", { src: `${SWAGGER}-bundle.js` }));
  const content = h(
    "div",
    { id: "main", class: "content", tabindex: -1 }, // Swagger UI has a main element of its own
    h(
      "section",
      { "aria-labelledby": "title" },
      h("h1", { id: "title" }, "Contract"),
      h(
        "p",
        { class: "lead" },
        key
          ? ["Requests carry the key ", h("code", {}, key), " unless you authorize another."]
          : "Authorize with a key of the deployment: requests are forwarded to it, writes too.",
        " Files: ",
        link(`${prefix}/openapi.yaml`),
        ", for generators of clients ",
        link(`${prefix}/openapi.client.yaml`),
        ", and of the control plane ",
        link("/_mock/openapi.yaml"),
        ".",
      ),
    ),
    place,
  );
  main.replaceWith(content);
  document.documentElement.classList.toggle("dark-mode", matchMedia("(prefers-color-scheme: dark)").matches);
  const ui = window.SwaggerUIBundle({
    url: `${prefix}/openapi.yaml`,
    domNode: place,
    deepLinking: true,
    validatorUrl: null,
    onComplete: () => key && ui.preauthorizeApiKey("bearerKey", key),
  });
  return [];
}
