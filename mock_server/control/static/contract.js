"use strict";

window.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("contract");
  window.SwaggerUIBundle({ url: place.dataset.url, domNode: place, deepLinking: true, validatorUrl: null });
});
