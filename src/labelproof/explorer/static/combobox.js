// The field in which labels are typed: a combobox as WAI-ARIA describes it, completed by the server.

import { element, labelName, learnNames, plural } from "./elements.js";

const WAIT = 30; // milliseconds between the last key and the request

export class Combobox {
  constructor({ input, list, status, add, removeLast, isOn }) {
    Object.assign(this, { input, list, status, add, removeLast, isOn });
    this.found = [];
    this.active = -1;
    this.asked = new AbortController();
    input.addEventListener("input", () => this.ask(WAIT));
    input.addEventListener("keydown", (event) => this.onKey(event));
    input.addEventListener("blur", () => this.close());
    input.addEventListener("click", () => this.ask(0));
    list.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus in the field
  }

  async ask(wait) {
    this.asked.abort();
    this.asked = new AbortController();
    const { signal } = this.asked;
    const query = this.input.value;
    try {
      await new Promise((resolve) => setTimeout(resolve, wait));
      if (signal.aborted) return;
      const answer = await fetch(`/api/labels?limit=12&q=${encodeURIComponent(query)}`, { signal });
      if (!answer.ok) return;
      this.show(await answer.json(), query);
    } catch (error) {
      if (error.name !== "AbortError") this.close();
    }
  }

  show(found, query) {
    for (const one of found) learnNames({ names: { [one.label]: one.name } });
    this.found = found;
    this.query = query;
    this.list.replaceChildren(...found.map((one, place) => this.option(one, place)));
    if (!found.length) this.list.append(element("li", { class: "none", role: "presentation", text: "No label matches." }));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", String(found.length > 0));
    this.move(found.length && query ? 0 : -1);
    this.status.textContent = found.length ? plural(found.length, "match", "matches") : "No label matches.";
  }

  option(one, place) {
    const on = this.isOn(one.label);
    const note = [on ? "on" : null, one.count ? plural(one.count, "example") : null].filter(Boolean).join(" · ");
    const item = element(
      "li",
      { id: `option-${place}`, role: "option", "aria-selected": "false", class: on ? "on" : null },
      labelName(one.label),
      element("span", { class: "note", text: note }),
    );
    item.addEventListener("click", () => this.take(place));
    item.addEventListener("mousemove", () => this.move(place));
    return item;
  }

  move(place) {
    this.active = place;
    [...this.list.children].forEach((item, k) => {
      if (item.role === "option") item.setAttribute("aria-selected", String(k === place));
    });
    if (place >= 0) {
      this.input.setAttribute("aria-activedescendant", `option-${place}`);
      this.list.children[place].scrollIntoView({ block: "nearest" });
    } else {
      this.input.removeAttribute("aria-activedescendant");
    }
  }

  async onKey(event) {
    const isOpen = !this.list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen) return void this.ask(0);
      const count = this.found.length;
      if (count) this.move(event.key === "ArrowDown" ? (this.active + 1) % count : (this.active + count - (this.active >= 0)) % count);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const typed = this.input.value;
      if (typed && (!isOpen || this.query !== typed)) await this.ask(0); // typed faster than answered
      if (this.active >= 0 && !this.list.hidden) this.take(this.active);
    } else if (event.key === "Escape") {
      if (isOpen) this.close();
      else this.input.value = "";
    } else if (event.key === "Backspace" && !this.input.value) {
      this.close();
      this.removeLast();
    }
  }

  take(place) {
    const { label } = this.found[place];
    this.input.value = "";
    this.close();
    this.add(label);
  }

  close() {
    this.asked.abort();
    this.list.hidden = true;
    this.active = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.status.textContent = "";
  }
}
