// A text area that completes names by keyboard: arrows choose, Enter or Tab takes, Escape closes.

import { element, show } from "./elements.js";
import { fitting } from "./vocabulary.js";

/** Attach completion; `words` is asked each time, so that names may arrive later. */
export function complete(area, list, words) {
  let found = [];
  let before = "";
  let chosen = 0;

  function close() {
    found = [];
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  }

  function open(anything) {
    ({ before, found } = fitting(words(), area.value, area.selectionStart, anything));
    if (!found.length) return close();
    chosen = 0;
    draw();
    place();
  }

  function draw() {
    show(
      list,
      found.map((entry, index) =>
        element(
          "li",
          {
            role: "option",
            id: `name-${index}`,
            "aria-selected": index === chosen,
            onmousedown: (event) => {
              event.preventDefault();
              take(index);
            },
          },
          element("span", {}, entry.word.trim()),
          element("span", {}, entry.hint),
        ),
      ),
    );
    for (const item of list.children) item.setAttribute("aria-selected", String(item.id === `name-${chosen}`));
    list.hidden = false;
    area.setAttribute("aria-activedescendant", `name-${chosen}`);
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  /** Put the list under the caret: a hidden copy of the text says where that is. */
  function place() {
    const style = getComputedStyle(area);
    const copy = element("div", { class: "measure" }, area.value.slice(0, area.selectionStart));
    for (const name of ["font", "padding", "border", "lineHeight"]) copy.style[name] = style[name];
    copy.style.width = `${area.clientWidth}px`;
    const mark = element("span", {}, "|");
    copy.append(mark);
    area.parentElement.append(copy);
    const line = parseFloat(style.lineHeight);
    const top = mark.offsetTop - area.scrollTop + line + 6;
    const left = Math.min(mark.offsetLeft, Math.max(0, area.clientWidth - list.offsetWidth));
    copy.remove();
    list.style.top = `${Math.min(top, area.offsetHeight)}px`;
    list.style.left = `${left}px`;
  }

  function take(index) {
    const entry = found[index];
    const start = area.selectionStart - before.length;
    area.setRangeText(entry.word, start, area.selectionStart, "end");
    close();
    area.dispatchEvent(new Event("input", { bubbles: true }));
    close();
    area.focus();
  }

  area.addEventListener("input", (event) => {
    if (event.inputType?.startsWith("insert")) open(false);
    else close();
  });
  area.addEventListener("blur", close);
  area.addEventListener("click", close);
  area.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      open(true);
      return;
    }
    if (!found.length || event.ctrlKey || event.metaKey) return;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      chosen = (chosen + move + found.length) % found.length;
      draw();
    } else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === "Escape") {
      event.preventDefault();
      close();
    } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
      close();
    }
  });
}
