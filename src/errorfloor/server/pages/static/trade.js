// What another bound would cost: the charge falls with its square, so one price says about all of them.

import { byId, element, show } from "./elements.js";
import { percent, withUnit, digits } from "./numbers.js";

/** A slider around a bound that was priced; `apply` is called with the bound that is chosen. */
export class Trade {
  constructor(apply) {
    this.apply = apply;
    this.priced = null;
    byId("trade").addEventListener("input", () => this.say());
    byId("trade").addEventListener("change", () => {
      if (this.priced !== null) this.apply(this.bound);
    });
  }

  /** Begin at a bound and its share of the scarcest allowance; without them there is nothing to trade. */
  begin(bound, share, unit) {
    this.priced = typeof bound === "number" && share > 0 ? { bound, share, unit } : null;
    byId("trade-line").hidden = this.priced === null;
    byId("trade").value = 0;
    this.say();
  }

  get bound() {
    return Number((this.priced.bound * 2 ** byId("trade").valueAsNumber).toPrecision(2));
  }

  say() {
    if (this.priced === null) return;
    const { bound, share, unit } = this.priced;
    const text = `± ${withUnit(digits(this.bound, 3), unit)} for about ${percent(share * (bound / this.bound) ** 2)}`;
    byId("trade").setAttribute("aria-valuetext", text);
    show(byId("trade-said"), element("span", {}, byId("trade").valueAsNumber ? text : "exact ↔ cheap"));
  }
}
