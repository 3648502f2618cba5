"use strict";
const field = document.getElementById("filter");
field.hidden = false;
field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  for (const item of document.querySelectorAll("[data-item]")) {
    item.hidden = wanted !== "" && !item.textContent.toLowerCase().includes(wanted);
  }
});
