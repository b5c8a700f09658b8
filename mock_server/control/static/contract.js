"use strict";

window.addEventListener("DOMContentLoaded", () => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark-mode", dark);
  const place = document.getElementById("contract");
  const ui = window.SwaggerUIBundle({
    url: place.dataset.url,
    domNode: place,
    deepLinking: true,
    validatorUrl: null,
    onComplete: () => place.dataset.key && ui.preauthorizeApiKey("bearerKey", place.dataset.key),
  });
});
