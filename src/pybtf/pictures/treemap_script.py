"""What a treemap looks like, and what it does when somebody clicks: CSS and JavaScript, in the file itself."""

STYLE = """\
svg { background: #fbfbfa; font: 12px system-ui, sans-serif; display: block }
rect { stroke: #fbfbfa; stroke-width: 1; rx: 2px }
text { fill: #1b1b1a; pointer-events: none }
.head { font-weight: 600 }
.path { font-size: 14px; pointer-events: auto; cursor: pointer }
.path:hover { text-decoration: underline }
.note, .size { fill: #5c5c58 }
.folder > rect { cursor: zoom-in }
.dim { opacity: .22 }
.hit > rect { stroke: #c2410c; stroke-width: 2.5 }
input { box-sizing: border-box; width: 100%; font: 13px system-ui, sans-serif; padding: 3px 8px; border-radius: 6px;
  border: 1px solid #a8a8a2; background: #fff; color: #1b1b1a }
input:focus { outline: 2px solid #2563eb }
@media (prefers-color-scheme: dark) {
  svg { background: #191918 }
  rect { stroke: #191918 }
  text { fill: #f1f1ee }
  .note, .size { fill: #b4b4ad }
  g.box > rect { filter: brightness(.44) saturate(1.25) }
  .hit > rect { stroke: #fb923c }
  input { background: #262624; color: #f1f1ee; border-color: #6b6b66 }
}
"""

SCRIPT = """\
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const root = document.querySelector("svg.treemap");
  const map = root.querySelector(".map"), line = root.querySelector(".line");
  const field = root.querySelector("input"), note = root.querySelector(".note");
  const TOP = 40, GAP = 3, HEAD = 18, SMALL = 5;
  let width = 1200, height = 760, path = [], words = "";
  window.addEventListener("error", event => root.setAttribute("data-error", event.message));

  const whole = build(JSON.parse(root.querySelector(".data").textContent), null);
  path = [whole];

  function build(row, hue) {
    const node = {name: row[0], bytes: row[1], colour: row[3] || hue, count: row[4] || 1, parts: [], hits: 0, found: 0};
    node.parts = (row[2] || []).map(part => build(part, node.colour));
    return node;
  }
  function number(value) { return value.toLocaleString("en"); }
  function make(parent, tag, attributes, text) {
    const element = document.createElementNS(NS, tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }
  // Rows and columns of boxes that are as square as they can be; each gets the area that it has bytes.
  function squares(parts, x, y, w, h, total) {
    const boxes = [];
    let start = 0, left = total;
    while (start < parts.length && left > 0 && w > 0 && h > 0) {
      const side = Math.min(w, h), scale = w * h / left;
      let end = start, sum = 0, worst = Infinity;
      while (end < parts.length) {
        const next = sum + parts[end].bytes, thick = next * scale / side;
        const ratio = Math.max(...[parts[start], parts[end]].map(part => {
          const long = part.bytes * scale / thick;
          return Math.max(long / thick, thick / long);
        }));
        if (ratio > worst) break;
        worst = ratio; sum = next; end += 1;
      }
      const thick = sum * scale / side;
      let at = 0;
      for (; start < end; start += 1) {
        const long = parts[start].bytes * scale / thick;
        boxes.push(w >= h ? [parts[start], x, y + at, thick, long] : [parts[start], x + at, y, long, thick]);
        at += long;
      }
      left -= sum;
      if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    }
    return boxes;
  }
  // What would be too small to be seen becomes one box.
  function visible(node, w, h) {
    const least = node.bytes * SMALL * SMALL / Math.max(1, w * h);
    const shown = node.parts.filter(part => part.bytes >= least);
    const rest = node.parts.slice(shown.length);
    if (rest.length > 1) {
      const more = {name: number(rest.length) + " more", bytes: 0, parts: rest, colour: node.colour, hits: 0, found: 0};
      for (const part of rest) { more.bytes += part.bytes; more.hits += part.hits; more.found += part.found; }
      return [...shown, more].sort((a, b) => b.bytes - a.bytes);
    }
    return node.parts;
  }
  function label(group, text, x, y, w, kind) {
    const fit = Math.floor((w - 8) / 6.6);
    if (fit < 3) return;
    make(group, "text", {x: x + 5, y, class: kind}, text.length > fit ? text.slice(0, fit - 1) + "…" : text);
  }
  function draw() {
    const node = path[path.length - 1], tall = height - TOP;
    map.replaceChildren();
    for (const [part, x, y, w, h] of squares(visible(node, width, tall), 0, TOP, width, tall, node.bytes))
      box(map, part, x, y, w, h, 0);
    crumbs();
  }
  function box(parent, node, x, y, w, h, depth) {
    const state = words && !node.hits ? " dim" : words && (depth || !node.parts.length) ? " hit" : "";
    const group = make(parent, "g", {class: "box" + (node.parts.length ? " folder" : "") + state});
    const rect = make(group, "rect", {x, y, width: w, height: h, fill: node.colour, "data-bytes": node.bytes});
    const share = (100 * node.bytes / whole.bytes).toFixed(2);
    make(rect, "title", {}, `${node.name}: ${number(node.bytes)} bytes, ${share}%`);
    if (depth === 0 || !node.parts.length) rect.setAttribute("data-depth", depth);
    group.addEventListener("click", event => { event.stopPropagation(); enter(node); });
    if (h < 14) return;
    const inside = depth < 2 && node.parts.length && w > 60 && h > 50;
    label(group, node.name, x, y + 13, w, inside ? "head" : "");
    if (!inside) { if (h > 30) label(group, number(node.bytes), x, y + 27, w, "size"); return; }
    const [iw, ih] = [w - 2 * GAP, h - HEAD - GAP];
    for (const [part, px, py, pw, ph] of squares(visible(node, iw, ih), x + GAP, y + HEAD, iw, ih, node.bytes))
      box(group, part, px, py, pw, ph, depth + 1);
  }
  function enter(node) {
    const way = route(path[path.length - 1], node);
    path = node.parts.length ? [...path, ...way] : [...path, ...way.slice(0, -1)];
    draw();
  }
  function route(from, to) {
    for (const part of from.parts) {
      if (part === to) return [part];
      const way = route(part, to);
      if (way.length) return [part, ...way];
    }
    return from === path[path.length - 1] && to.parts.length ? [to] : [];
  }
  function crumbs() {
    line.replaceChildren();
    let x = 8;
    path.forEach((node, at) => {
      const text = (at ? "› " : "") + node.name + (at === path.length - 1 ? `  ${number(node.bytes)} bytes` : "");
      const element = make(line, "text", {x, y: 25, class: "path"}, text);
      element.addEventListener("click", () => { path = path.slice(0, at + 1); draw(); });
      x += element.getComputedTextLength() + 10;
    });
  }
  function search(text) {
    words = text.trim().toLowerCase();
    count(whole);
    note.textContent = words ? `${number(whole.hits)} found, ${number(whole.found)} bytes` : "";
    root.setAttribute("data-found", words ? whole.hits : "");
    draw();
  }
  function count(node) {
    node.hits = node.found = 0;
    for (const part of node.parts) { count(part); node.hits += part.hits; node.found += part.found; }
    if (!node.parts.length && words && node.name.toLowerCase().includes(words)) {
      node.hits = node.count; node.found = node.bytes;
    }
  }
  function size() {
    width = Math.max(320, window.innerWidth || width);
    height = Math.max(240, window.innerHeight || height);
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.querySelector("foreignObject").setAttribute("x", width - 268);
    note.setAttribute("x", width - 280);
    draw();
  }
  field.addEventListener("input", () => search(field.value));
  window.addEventListener("resize", size);
  window.addEventListener("keydown", event => {
    if (event.key === "Escape" && path.length > 1) { path = path.slice(0, -1); draw(); }
    if (event.key === "/" && event.target !== field) { event.preventDefault(); field.focus(); }
  });
  size();
  if (location.hash.length > 1) { field.value = decodeURIComponent(location.hash.slice(1)); search(field.value); }
  root.setAttribute("data-ready", "yes");
})();
"""
