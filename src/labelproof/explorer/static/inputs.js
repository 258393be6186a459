// What rests on real inputs: the stretch beside the verdict, the inputs of a mixture, and a text made of them.

import { between, element, labelName, listed, plural } from "./elements.js";
import { balance, paragraph } from "./panels.js";

// A proven bound with three digits that count, rounded down; null is infinite.
function times(value) {
  if (value === null) return "∞";
  if (value <= 0) return "0";
  const digits = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(value))));
  return (Math.floor(value * 10 ** digits + 1e-9) / 10 ** digits).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

const PLACES = {
  inside: { class: "can", words: "some mixture of real inputs is predicted so" },
  within: { class: "can", words: "within the bar: no farther than the model’s own predictions" },
  outside: { class: "undecided", words: "beyond all mixtures of real inputs" },
  beyond: { class: "cannot", words: "beyond the bar" },
  open: { class: "undecided", words: "too close to the edge to say" },
};

export function showStretch(panel, answer, model) {
  const place = PLACES[answer.place];
  const bar = model.has_bar ? `bar ${model.bar === null ? "∞" : model.bar.toPrecision(3)}` : "no bar";
  const all = `With 95 % confidence, all sets beyond the bar together get at most ${Number((100 * model.alpha).toPrecision(10))} % of this model’s predictions.`;
  panel.querySelector(".stretch")?.remove();
  const headline = panel.querySelector(".headline");
  if (answer.place === "beyond") headline.textContent = headline.textContent.replace("can be predicted.", "can be predicted, but lies beyond the bar.");
  panel.append(
    element(
      "div",
      { class: `stretch ${place.class}` },
      element("p", { class: "stretch-title", text: "Stretch: how far beyond mixtures of real inputs" }),
      element("p", { class: "stretch-value" }, element("strong", { text: times(answer.lower) }), element("span", { class: "under", text: ` ${bar}` })),
      element("p", { class: `verdict ${place.class}`, text: place.words }),
      answer.place === "beyond" ? paragraph(all, "under") : null,
    ),
  );
}

export function showInputs(panel, answer, { model, write }) {
  const parts = [paragraph(lead(answer, model))];
  panel.querySelector("h2").textContent = title(answer);
  if (answer.mixture.length) parts.push(element("ul", { class: "rows" }, ...answer.mixture.map(row)));
  const rest = answer.n_mixed - answer.mixture.length;
  if (rest > 0) parts.push(paragraph(`and ${plural(rest, "other")} with less weight`, "under"));
  if (answer.n_same) parts.push(same(answer, model));
  if (answer.can_write) parts.push(trial(write));
  const { on, off } = answer.conflict;
  if ((answer.lower === null || answer.lower > 1) && on.length + off.length > 1)
    parts.push(element("h3", { text: "What keeps it away" }), paragraph("Weighted as the bars show, these labels contradict each other at every real input:"), balance(answer.conflict));
  panel.querySelector(".content").replaceChildren(...parts);
  panel.hidden = false;
}

function title({ upper, mixture }) {
  if (!mixture.length) return upper === null ? "No mixture of real inputs leads there" : "Near the average input";
  return upper <= 1 ? "Real inputs whose mixture gives it" : "Real inputs that point to it";
}

function lead({ upper, mixture, n_mixed: mixed }, model) {
  const inputs = plural(model.inputs, "real input");
  if (!mixture.length) return upper === null ? `However far one goes beyond ${inputs}: none gives exactly this combination.` : `The mean of ${inputs} is itself predicted so.`;
  const who = mixed === 1 ? "one" : String(mixed);
  if (upper <= 1) return `A mixture of ${who} of ${inputs}, weighted so, is predicted as exactly this combination:`;
  return `One has to go ${times(upper)} times as far from the mean of ${inputs} as their mixtures reach, towards ${mixed === 1 ? "this one" : `these ${who}, weighted so`}:`;
}

// Inputs whose own prediction is the combination.
function same({ n_same: count, same: first }, model) {
  const words = `${count.toLocaleString("en")} of ${plural(model.inputs, "real input")} ${count === 1 ? "is" : "are"} predicted exactly so${first.text ? ", such as " : ": "}`;
  const which = first.text ? [element("bdi", { dir: "auto", class: "words", text: first.text }), ` (row ${first.row})`] : [`row ${first.row}`];
  return element("p", { class: "same" }, words, ...which, ".");
}

function row(one) {
  const predicted = one.predicted.labels.length ? [element("span", { class: "sign", text: "predicted " }), listed(one.predicted.labels, 6)] : [element("span", { class: "sign", text: "predicted no label" })];
  return element(
    "li",
    { class: "row input" },
    element("span", { class: "number", text: `${Math.round(100 * one.share)} %` }),
    element("span", {}, element("bdi", { dir: "auto", class: "words", text: one.text ?? `input ${one.row}` }), element("span", { class: "note" }, `row ${one.row} · `, ...predicted)),
  );
}

function trial(write) {
  const place = element("div", { class: "trial", "aria-live": "polite" });
  const button = element("button", { class: "action", type: "button", text: "Write a text that triggers it" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    place.replaceChildren(paragraph("Splicing these inputs by weight, and asking the model …", "under"));
    const answer = await write().catch(() => null);
    button.disabled = false;
    place.replaceChildren(...(answer ? written(answer) : []));
  });
  return element("div", {}, button, place);
}

function written(answer) {
  const isExact = !answer.added.length && !answer.removed.length;
  const words = isExact ? "This text triggers it: the model predicts exactly this combination for it." : "The model predicts something else for the closest text found:";
  const parts = [element("p", { class: `verdict ${isExact ? "can" : "undecided"}`, text: words })];
  if (!isExact) parts.push(element("p", {}, ...difference(answer)));
  const text = element("blockquote", {}, ...answer.text.split("\n\n").map((part) => element("p", {}, element("bdi", { dir: "auto", text: part }))));
  const origin = answer.is_spliced ? `The best of ${plural(answer.n_tried, "text")} spliced from the inputs above.` : "It is an input of the data; no text that was spliced from the inputs above does.";
  parts.push(text, paragraph(origin, "under"));
  return parts;
}

function difference({ predicted, added, removed }) {
  if (!predicted.labels.length) return ["no label at all"];
  const extra = new Set(added);
  const parts = [];
  predicted.labels.slice(0, 12).forEach((label, place) => {
    parts.push(place ? between(predicted.labels) : "", labelName(label, { class: extra.has(label) ? "name other" : "name" }));
  });
  if (predicted.labels.length > 12) parts.push(` and ${predicted.labels.length - 12} more`);
  if (removed.length) parts.push(element("span", { class: "sign", text: " · missing: " }), listed(removed, 6));
  return parts;
}
