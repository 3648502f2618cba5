"use strict";
const field = document.getElementById("filter");
field.hidden = false;
field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  for (const item of document.querySelectorAll("[data-item]")) {
    item.hidden = wanted !== "" && !item.textContent.toLowerCase().includes(wanted);
  }
});
const open = () => {
  const wanted = document.getElementById(location.hash.slice(1));
  for (let at = wanted; at; at = at.parentElement) {
    if (at.tagName === "DETAILS") {
      at.open = true;
    }
  }
  wanted?.scrollIntoView();
};
addEventListener("hashchange", open);
open();
