// The drawing: a plane cut into regions, each of which gives one label set.

import { element, listed, nameOf, plural, shape } from "./elements.js";

const FEW = 16; // up to so many regions are written into
const FEW_LINES = 8;

export function showDrawing(panel, answer, { isCurrent, go, model }) {
  if (!answer.regions.length) return void (panel.hidden = true);
  const base = answer.base.labels;
  const sets = answer.regions.map((region) => changed(base, region));
  const svg = shape("svg", { viewBox: "-1.02 -1.02 2.04 2.04", class: "plane", role: "group", "aria-label": "Regions of the plane; arrow keys move between them, Enter chooses one" });
  const hasBase = answer.disc !== null;
  const polygons = answer.regions.map((region, place) => polygon(region, place, hasBase, isCurrent));
  svg.append(shape("rect", { x: -1, y: -1, width: 2, height: 2, class: "outside" }), ...polygons.slice(1), ...polygons.slice(0, 1));
  svg.append(...answer.lines.map((line) => boundary(line, answer)));
  if (answer.disc)
    svg.append(shape("circle", { class: "disc", cx: answer.disc.center[0], cy: -answer.disc.center[1], r: answer.disc.radius }));
  answer.points.forEach((point, place) => svg.append(witness(point, place)));
  answer.regions.forEach((region) => region.count && svg.append(dot(region)));
  if (answer.regions.length <= FEW) answer.regions.forEach((region, place) => svg.append(inscription(region, sets[place])));
  const named = answer.lines.length <= FEW_LINES ? answer.lines : answer.lines.filter((line) => line.is_missing);
  svg.append(...named.map(lineName));
  const said = element("p", { class: "said under" });
  const say = (place) => said.replaceChildren(...describe(answer.regions[place], sets[place], place === 0 && hasBase, isCurrent));
  polygons.forEach((one, place) => {
    one.addEventListener("mouseenter", () => say(place));
    one.addEventListener("focus", () => say(place));
    one.addEventListener("click", () => choose(place));
  });
  const choose = (place) => {
    if (answer.regions[place].can_be_chosen) go(sets[place]);
  };
  svg.addEventListener("mouseleave", () => said.replaceChildren("Point at a region to see its combination; click to go there."));
  svg.addEventListener("keydown", (event) => onKey(event, polygons, answer.regions, choose));
  if (polygons.length) polygons[0].setAttribute("tabindex", "0");
  said.append("Point at a region to see its combination; click to go there.");
  const title = panel.querySelector("h2");
  title.textContent = answer.is_whole ? "All inputs, cut into regions" : "A slice through the inputs";
  const parts = [element("p", { class: "lead", text: caption(answer, isCurrent, model) }), svg, said, legend(answer, hasBase, isCurrent, model)];
  panel.querySelector(".content").replaceChildren(...parts.filter(Boolean));
  panel.hidden = false;
}

function changed(base, region) {
  const removed = new Set(region.removed);
  return [...base.filter((label) => !removed.has(label)), ...region.added].sort((a, b) => a - b);
}

const at = ([x, y]) => `${x},${-y}`;

function polygon(region, place, hasBase, isCurrent) {
  const depth = Math.min(region.changes, 6);
  const kind = place === 0 && hasBase ? (isCurrent ? "base current" : "base") : `depth-${depth}`;
  const choosable = region.can_be_chosen ? "" : " far";
  return shape("polygon", {
    points: region.corners.map(at).join(" "),
    class: `region ${kind}${choosable}`,
    tabindex: "-1",
    role: "button",
    "aria-label": words(region, place === 0 && hasBase, isCurrent),
  });
}

function words(region, isBase, isCurrent) {
  if (isBase) return isCurrent ? "This combination" : "The nearest combination";
  const some = (labels) => labels.slice(0, 3).map(nameOf).join(", ") + (labels.length > 3 ? ` and ${labels.length - 3} more` : "");
  const sides = [region.added.length ? `with ${some(region.added)}` : null, region.removed.length ? `without ${some(region.removed)}` : null];
  return sides.filter(Boolean).join(", ") || "no label";
}

function describe(region, set, isBase, isCurrent) {
  const data = region.count ? ` ${plural(region.count, "example")} of the data.` : "";
  if (isBase) return [isCurrent ? "This combination." : "The nearest combination that can be predicted.", data];
  if (set.length <= 6) return [set.length ? listed(set) : "No label", ".", data];
  const parts = [];
  if (region.added.length) parts.push("with ", listed(region.added, 4));
  if (region.removed.length) parts.push(parts.length ? ", without " : "without ", listed(region.removed, 4));
  const total = region.changes > region.added.length + region.removed.length ? ` (${region.changes} changes)` : "";
  return [...parts, `${total}.`, data];
}

function boundary({ start, end, is_missing: isMissing }, answer) {
  const kind = isMissing ? "line missing" : answer.lines.length <= FEW_LINES ? "line few" : "line";
  return shape("line", { class: kind, x1: start[0], y1: -start[1], x2: end[0], y2: -end[1] });
}

// Beside the line's end, on the side where the label is on.
function lineName({ label, start, end, is_missing: isMissing }) {
  const length = Math.hypot(end[0] - start[0], end[1] - start[1]) || 1;
  const along = [(end[0] - start[0]) / length, (end[1] - start[1]) / length];
  const left = [-along[1], along[0]];
  const place = [0, 1].map((k) => end[k] - 0.07 * along[k] + 0.045 * left[k]);
  const x = Math.max(left[0] < 0 ? -0.8 : -0.97, Math.min(left[0] < 0 ? 0.97 : 0.8, place[0]));
  const y = Math.max(-0.95, Math.min(0.97, place[1]));
  const name = nameOf(label);
  const text = shape("text", { class: isMissing ? "line-name missing" : "line-name", x, y: -y, "text-anchor": left[0] < 0 ? "end" : "start", "aria-hidden": "true" });
  text.textContent = `\u2068${name.length > 18 ? `${name.slice(0, 17)}…` : name}\u2069`;
  return text;
}

function witness(point, place) {
  return shape("path", { class: place ? "witness other" : "witness", d: `M${point[0] - 0.02},${-point[1]}h0.04M${point[0]},${-point[1] - 0.02}v0.04` });
}

function middle(corners) {
  let [area, x, y] = [0, 0, 0];
  corners.forEach(([x0, y0], k) => {
    const [x1, y1] = corners[(k + 1) % corners.length];
    const cross = x0 * y1 - x1 * y0;
    area += cross / 2;
    x += ((x0 + x1) * cross) / 6;
    y += ((y0 + y1) * cross) / 6;
  });
  return Math.abs(area) < 1e-12 ? corners[0] : [x / area, y / area];
}

function dot(region) {
  const [x, y] = middle(region.corners);
  return shape("circle", { class: "seen", cx: x, cy: -y, r: 0.012 });
}

// The names of a region's labels, where they fit into it: in one line, else one below the other.
function inscription(region, set) {
  const [x, y] = middle(region.corners);
  const text = shape("text", { class: "inscription", "text-anchor": "middle", "aria-hidden": "true" });
  const height = (k, count) => y - (region.count ? 0.075 + 0.068 * k : 0.02 + 0.068 * (k - (count - 1) / 2));
  const fits = (lines) =>
    lines.every((line, k) => {
      const foot = height(k, lines.length);
      return Math.min(chord(region.corners, x, foot), chord(region.corners, x, foot + 0.05)) > 0.033 * line.length;
    });
  const names = set.map(nameOf);
  const lines = [[names.join(", ") || "none"], names.slice(0, names.length <= 4 ? 4 : 0), []].find(fits);
  lines.forEach((line, k) => {
    const part = shape("tspan", { x, y: -height(k, lines.length) });
    part.textContent = `\u2068${line}\u2069`;
    text.append(part);
  });
  return text;
}

// How wide a convex polygon is to both sides of a point, twice the smaller.
function chord(corners, x, y) {
  const crossings = corners.flatMap(([x0, y0], k) => {
    const [x1, y1] = corners[(k + 1) % corners.length];
    return (y0 > y) === (y1 > y) ? [] : [x0 + ((y - y0) / (y1 - y0)) * (x1 - x0)];
  });
  return crossings.length < 2 ? 0 : 2 * Math.min(x - Math.min(...crossings), Math.max(...crossings) - x);
}

function onKey(event, polygons, regions, choose) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const here = polygons.indexOf(document.activeElement);
  if (here < 0) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    choose(here);
  }
  if (!(event.key in steps)) return;
  event.preventDefault();
  const [dx, dy] = steps[event.key];
  const from = middle(regions[here].corners);
  let best = -1;
  let least = Infinity;
  regions.forEach((region, place) => {
    const to = middle(region.corners);
    const along = (to[0] - from[0]) * dx + (to[1] - from[1]) * dy;
    const across = Math.abs((to[0] - from[0]) * dy) + Math.abs((to[1] - from[1]) * dx);
    if (place !== here && along > 1e-6 && along + 2 * across < least) [best, least] = [place, along + 2 * across];
  });
  if (best < 0) return;
  polygons[here].setAttribute("tabindex", "-1");
  polygons[best].setAttribute("tabindex", "0");
  polygons[best].focus();
}

function caption(answer, isCurrent, model) {
  const what = answer.is_whole
    ? "Each point is an input; within a region every input gives the same combination."
    : `A plane cut out of ${model.n_features} dimensions: within a region every input gives the same combination.`;
  const topk = model.rule === "topk" ? ` Only combinations of ${plural((answer.disc ? answer.base : answer).labels.length, "label")} are drawn.` : "";
  const none = isCurrent ? (answer.disc ? "" : " The region of this combination is too thin to be drawn.") : answer.is_whole ? " None of the regions is this combination." : " This combination is nowhere; the plane goes through the nearest one that can be predicted.";
  const some = answer.is_complete ? "" : ` Only the ${answer.regions.length} regions next to the middle are drawn.`;
  return what + topk + none + some;
}

function legend(answer, hasBase, isCurrent, model) {
  const items = [];
  const item = (kind, text) => items.push(element("li", {}, element("span", { class: `key ${kind}`, "aria-hidden": "true" }), text));
  if (hasBase) item(isCurrent ? "base current" : "base", isCurrent ? "this combination" : "the nearest one");
  if (answer.disc) item("disc", answer.is_whole ? "the largest ball in it, within the frame" : "the largest disc in it");
  if (answer.points.length) item("witness", answer.points.length > 1 ? "inputs the plane goes through" : "the input found");
  if (answer.regions.some((region) => region.count)) item("seen", "occurs in the data");
  if (answer.lines.some((line) => line.is_missing)) item("missing", "boundary of a label in which they differ");
  if (!answer.is_whole || answer.regions.length > 6) item("depth", "paler: more labels differ");
  return element("ul", { class: "legend" }, ...items);
}
