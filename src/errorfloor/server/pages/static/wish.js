// How exact, or how much: one bound, a bound for each output, or a share of the allowance.

import { byId, element, field, show } from "./elements.js";

/** The part of the form that says what is wished for; `changed` is called after every edit. */
export class WishForm {
  constructor(changed) {
    this.changed = changed;
    this.outputs = [];
    for (const radio of document.querySelectorAll("input[name=wish]")) {
      radio.addEventListener("change", () => this.arrange());
    }
    byId("each").addEventListener("change", () => this.arrange());
    for (const id of ["max_error", "spend"]) byId(id).addEventListener("input", changed);
  }

  get kind() {
    return document.querySelector("input[name=wish]:checked").value;
  }

  get each() {
    return byId("each").checked && this.outputs.length > 1;
  }

  /** What goes into the request; empty where nothing is filled in. */
  read() {
    if (this.kind === "spend") {
      const share = byId("spend").valueAsNumber;
      return Number.isNaN(share) ? {} : { spend: Number((share / 100).toPrecision(12)) };
    }
    if (this.each) {
      const bounds = this.outputs.map(({ name }, place) => [name, byId(`bound-${place}`).valueAsNumber]);
      const given = bounds.filter(([, bound]) => !Number.isNaN(bound));
      return given.length ? { max_error: Object.fromEntries(given) } : {};
    }
    const bound = byId("max_error").valueAsNumber;
    return Number.isNaN(bound) ? {} : { max_error: bound };
  }

  /** Fill in a share of the allowance. */
  spend(share) {
    document.querySelector("input[name=wish][value=spend]").checked = true;
    byId("spend").value = 100 * share;
    this.arrange();
  }

  /** Fill in a bound: a number, or one for each output by name. */
  write(max_error) {
    document.querySelector("input[name=wish][value=max_error]").checked = true;
    if (typeof max_error === "object") {
      byId("each").checked = true;
      this.arrange();
      this.outputs.forEach(({ name }, place) => {
        if (name in max_error) byId(`bound-${place}`).value = max_error[name];
      });
    } else {
      byId("each").checked = false;
      byId("max_error").value = max_error;
      this.arrange();
    }
    this.changed();
  }

  /** Learn from a price which outputs get noise, and in which units. */
  learn(outputs) {
    const noisy = outputs.filter((output) => !output.exact);
    const same = noisy.length === this.outputs.length && noisy.every((one, place) =>
      one.name === this.outputs[place].name,
    );
    this.outputs = noisy;
    const units = new Set(noisy.map((output) => output.unit));
    byId("max_error-unit").textContent = units.size === 1 ? [...units][0] : "";
    if (!same) {
      const bound = byId("max_error").value;
      show(
        byId("wish-bounds"),
        noisy.map((output, place) =>
          field(
            `bound-${place}`,
            `${output.name} off by at most ±`,
            element("div", { class: "with-unit" }, this.bound(place, bound), element("span", { class: "soft" }, output.unit ?? "")),
          ),
        ),
      );
    }
    this.arrange(false);
  }

  bound(place, value) {
    const number = { type: "number", min: 0, step: "any", inputmode: "decimal", value };
    return element("input", { id: `bound-${place}`, ...number, oninput: this.changed });
  }

  arrange(tell = true) {
    const share = this.kind === "spend";
    byId("wish-share").hidden = !share;
    byId("wish-bounds").hidden = share || !this.each;
    byId("wish-bound").hidden = share || this.each;
    byId("each-line").hidden = share || this.outputs.length < 2;
    if (tell) this.changed();
  }
}
