// Elements of the page. Label names are untrusted: they enter as text only, each isolated in its own direction.

const names = new Map();

export function learnNames(answer) {
  for (const [label, name] of Object.entries(answer.names ?? {})) names.set(Number(label), name);
}

export function nameOf(label) {
  return names.get(label) ?? `label ${label}`;
}

export function knowsName(label) {
  return names.has(label);
}

export function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  fill(made, options, children);
  return made;
}

export function shape(tag, options = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(made, options, children);
  return made;
}

function fill(made, options, children) {
  for (const [key, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") made.textContent = value;
    else if (key === "onclick") made.addEventListener("click", value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
}

export function labelName(label, options = {}) {
  return element("bdi", { dir: "auto", class: "name", title: nameOf(label), ...options, text: nameOf(label) });
}

// What stands between names: a comma, or a semicolon where names have commas themselves.
export function between(labels) {
  return labels.some((label) => nameOf(label).includes(",")) ? "; " : ", ";
}

// "A, B and 3 more", with each name isolated.
export function listed(labels, most = 6) {
  const shown = labels.length > most + 1 ? labels.slice(0, most) : labels;
  const rest = labels.length - shown.length;
  const parts = [];
  shown.forEach((label, place) => {
    if (place) parts.push(place === shown.length - 1 && !rest ? " and " : between(shown));
    parts.push(labelName(label));
  });
  if (rest) parts.push(` and ${rest} more`);
  return element("span", { class: "listed" }, ...parts);
}

export function plural(count, noun, many = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

export function short(number) {
  if (number === null) return "∞";
  return number.toPrecision(Math.abs(number) < 0.001 ? 2 : 3).replace("-", "\u2011"); // a minus that does not break
}

export function bar(share, side) {
  const inside = element("span", { class: "fill" });
  inside.style.inlineSize = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return element("span", { class: `bar ${side}`, "aria-hidden": "true" }, inside);
}

export const VERDICTS = {
  argmaxable: { class: "can", text: "can be predicted" },
  unargmaxable: { class: "cannot", text: "can never be predicted" },
  undecided: { class: "undecided", text: "not decided" },
  size: { class: "cannot", text: "can never be predicted" },
};
