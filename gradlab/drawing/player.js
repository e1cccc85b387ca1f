// The player: steps through one backward in the browser. The picture comes laid out, with a place for everything
// that any step shows; a step only turns things on and off, so no kernel is asked.

const KEYS = "keys: ← → step · ↑ ↓ choose a box · space play · / find · + − 0 zoom (wheel with Ctrl)";

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

class Player {
  constructor(host, model, theme = "auto") {
    this.model = model;
    this.theme = theme;
    this.cleanups = [];
    this.build();
    host.append(this.root);
    this.follow("change:payload", () => this.load());
    this.follow("change:step", () => this.show());
    this.follow("change:retain", () => this.show());
    this.follow("change:selected", () => this.select());
    this.follow("change:playing", () => this.tick());
    this.watchTheme();
    this.load();
    this.tick();
    const resized = new ResizeObserver(() => this.moved || this.fit());
    resized.observe(this.view);
    this.cleanups.push(() => resized.disconnect(), () => clearTimeout(this.timer));
  }

  follow(event, action) {
    this.model.on(event, action);
    this.cleanups.push(() => this.model.off(event, action));
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  destroy() {
    for (const cleanup of this.cleanups) cleanup();
  }

  // ---- what is on the page -------------------------------------------------------------------------------------

  build() {
    const button = (words, label, action, kind = "") => {
      const made = make("button", { type: "button", "aria-label": label, title: label, class: kind }, words);
      made.addEventListener("click", action);
      return made;
    };
    this.first = button("|◀", "to the start", () => this.go(0));
    this.back = button("◀", "one step back", () => this.go(this.step - 1));
    this.next = button("step ▶", "one step on", () => this.go(this.step + 1), "gl-main-button");
    this.play = button("play", "play", () => this.set({ playing: !this.model.get("playing") }));
    this.range = make("input", { type: "range", min: 0, value: 0, "aria-label": "step" });
    this.range.addEventListener("input", () => this.go(Number(this.range.value)));
    this.count = make("span", { class: "gl-count" });
    this.retain = make("input", { type: "checkbox" });
    this.retain.addEventListener("change", () => this.set({ retain: this.retain.checked }));
    this.retainLabel = make("label", { title: "what backward(retain_graph=True) would keep" }, this.retain, "retain_graph");
    this.bar = make("i");
    this.held = make("span", { title: "saved tensors that are held" });
    this.memory = make("span", { class: "gl-memory" }, "saved", make("span", { class: "gl-meter", "aria-hidden": "true" }, this.bar), this.held);
    this.search = make("input", { type: "search", placeholder: "find", "aria-label": "find a box by name" });
    this.search.addEventListener("input", () => this.find());
    const bar = make("div", { class: "gl-bar" },
      this.first, this.back, this.next, this.play, this.range, this.count, make("span", { class: "gl-space" }),
      this.retainLabel, this.memory);
    const tools = make("div", { class: "gl-tools" }, this.search,
      button("−", "zoom out", () => this.zoom(1 / 1.25)), button("+", "zoom in", () => this.zoom(1.25)),
      button("fit", "show the whole graph", () => this.fit(true)));
    this.say = make("div", { class: "gl-say", role: "status", "aria-live": "polite" });
    this.view = make("div", { class: "gl-view" });
    this.side = make("aside", { class: "gl-side", "aria-label": "inspector", tabindex: "0" });
    this.foot = make("div", { class: "gl-foot" });
    this.root = make("div", { class: "gl", role: "group", "aria-label": "Backward, step by step", "data-lm-suppress-shortcuts": "true" },
      bar, make("div", { class: "gl-line" }, this.say, tools), make("div", { class: "gl-main" }, this.view, this.side), this.foot);
    // on the window and first of all: Notebook 7 takes the arrow keys on the document
    const keys = (event) => this.root.contains(event.target) && this.key(event);
    window.addEventListener("keydown", keys, true);
    this.cleanups.push(() => window.removeEventListener("keydown", keys, true));
    this.pan();
  }

  load() {
    const data = this.data = this.model.get("payload");
    this.root.dataset.recorded = data.recorded;
    this.svg = document.importNode(new DOMParser().parseFromString(data.svg, "image/svg+xml").documentElement, true);
    this.size = { width: this.svg.viewBox.baseVal.width, height: this.svg.viewBox.baseVal.height };
    this.svg.setAttribute("width", this.size.width);
    this.svg.setAttribute("height", this.size.height);
    this.svg.setAttribute("role", "group");
    this.svg.setAttribute("aria-label", "graph");
    this.view.replaceChildren(this.svg);
    this.boxes = new Map([...this.svg.querySelectorAll("g.node")].map((box) => [box.dataset.key, box]));
    this.edges = new Map([...this.svg.querySelectorAll("g.edge")].map((edge) => [edge.dataset.key, edge]));
    this.parts = new Map();
    for (const part of this.svg.querySelectorAll("[data-part]")) {
      const key = `${part.dataset.role} ${part.dataset.part}`;
      this.parts.set(key, [...(this.parts.get(key) ?? []), part]);
    }
    this.order = Object.keys(data.items).filter((key) => this.boxes.has(key));
    for (const key of this.order) this.prepare(key, this.boxes.get(key), data.items[key]);
    this.range.max = data.steps.length;
    this.shown = 0;
    this.free = new Set();
    this.touched = new Set();
    this.retained = undefined;
    this.moved = false;
    for (const [key, lines] of Object.entries(data.grads)) this.grad(key, lines);
    this.legend();
    this.select();
    this.show();
    this.fit();
  }

  prepare(key, box, item) {
    box.setAttribute("role", "button");
    box.setAttribute("tabindex", key === this.order[0] ? "0" : "-1");
    box.setAttribute("aria-label", `${item.title}, ${item.sub}`);
    box.addEventListener("click", () => this.dragged || this.choose(key));
    box.addEventListener("dblclick", () => item.path && this.open(item.path));
  }

  legend() {
    const chips = Object.keys(this.data.chips).length;
    const words = chips ? [["■ saved, held", "held"], ["□ saved, freed", "gone"]] : [];
    words.push(this.data.recorded ? ["→ gradient", "grad"] : "no backward was run: this is the order it would take");
    if (this.svg.querySelector("g.edge [stroke-dasharray]")) words.push("- - no gradient");
    const spans = [...words, ...this.data.notes, KEYS].map((text) => (Array.isArray(text) ? make("span", { class: text[1] }, text[0]) : make("span", {}, text)));
    this.foot.replaceChildren(...spans);
  }

  // ---- stepping ------------------------------------------------------------------------------------------------

  get step() {
    return Math.min(Math.max(this.model.get("step"), 0), this.data.steps.length);
  }

  go(step) {
    const last = this.data.steps.length;
    this.set({ step: Math.min(Math.max(step, 0), last) });
  }

  show() {
    const { steps } = this.data, step = this.step;
    while (this.shown < step) this.forward(steps[this.shown++]);
    while (this.shown > step) this.backward(steps[--this.shown], this.shown);
    for (const lit of this.lit ?? []) lit.classList.remove("now", "fresh");
    const current = steps[step - 1];
    this.lit = current ? [this.boxes.get(current.at), ...current.edges.map((key) => this.edges.get(key))].filter(Boolean) : [];
    this.lit.forEach((lit, i) => lit.classList.add(lit.classList.contains("node") ? "now" : "fresh"));
    this.chips();
    this.sentence(current);
    this.range.value = step;
    this.range.setAttribute("aria-valuetext", `step ${step} of ${steps.length}`);
    this.count.textContent = `step ${step} of ${steps.length}`;
    this.first.disabled = this.back.disabled = step === 0;
    this.next.disabled = step === steps.length;
    this.inspect();
    if (current && this.boxes.has(current.at)) this.reveal(this.boxes.get(current.at));
  }

  forward(step) {
    for (const key of step.edges) this.edges.get(key)?.classList.add("ran");
    for (const part of step.frees) this.free.add(part) && this.touched.add(part);
    for (const [key, lines] of Object.entries(step.grad ?? {})) this.grad(key, lines);
  }

  backward(step, number) {
    for (const key of step.edges) this.edges.get(key)?.classList.remove("ran");
    for (const part of step.frees) this.free.delete(part) && this.touched.add(part);
    for (const key of Object.keys(step.grad ?? {})) this.grad(key, this.gradBefore(key, number));
  }

  gradBefore(key, number) {
    for (let i = number - 1; i >= 0; i--) {
      const lines = this.data.steps[i].grad?.[key];
      if (lines) return lines;
    }
    return this.data.grads[key] ?? ["None"];
  }

  grad(key, lines) {
    (this.parts.get(`grad ${key}`) ?? []).forEach((text, i) => {
      text.textContent = lines[i] ?? "";
      text.classList.toggle("none", lines[0] === "None");
    });
  }

  chips() {
    const retain = this.model.get("retain"), parts = Object.keys(this.data.chips);
    this.retain.checked = retain;
    for (const part of this.retained === retain ? this.touched : parts) this.chip(part, !retain && this.free.has(part));
    this.retained = retain;
    this.touched = new Set();
    const total = parts.length, held = retain ? total : total - this.free.size;
    this.memory.hidden = this.retainLabel.hidden = total === 0;
    this.bar.style.width = `${total ? (100 * held) / total : 0}%`;
    this.held.textContent = `${held} of ${total} held`;
  }

  chip(part, freed) {
    const [, kept, gone] = this.data.chips[part];
    if (kept === undefined) return; // inside a folded module
    for (const box of this.parts.get(`chip ${part}`) ?? []) box.classList.toggle("gone", freed);
    for (const text of this.parts.get(`chip-ink ${part}`) ?? []) {
      text.classList.toggle("gone", freed);
      text.textContent = freed ? gone : kept;
    }
  }

  sentence(current) {
    const { steps, recorded } = this.data;
    if (!current) {
      const start = recorded ? "Before backward. Step to see the gradient travel from the output to the leaves." : "The graph. Step to see the order that backward would take.";
      this.say.replaceChildren(steps.length ? start : "This tensor has no graph: there is nothing to step through.");
      return;
    }
    const parts = current.say.map(([words, style]) => (style ? make(style === "name" ? "b" : "span", { class: style }, words) : words));
    const names = current.frees.map((part) => part.slice(part.indexOf(":") + 1));
    if (names.length) {
      const many = names.length > 1, who = names.length > 4 ? `${names.length} saved tensors` : `saved ${names.join(", ").replace(/, ([^,]*)$/, " and $1")}`;
      const [kept, gone] = recorded ? [many ? "stay held" : "stays held", many ? "are freed" : "is freed"] : ["would stay held", "would be freed"];
      const retain = this.model.get("retain");
      parts.push(make("span", { class: retain ? "kept" : "gone" }, ` Its ${who} ${retain ? `${kept} (retain_graph)` : gone}.`));
    }
    this.say.replaceChildren(...parts);
  }

  tick() {
    clearTimeout(this.timer);
    const playing = this.model.get("playing");
    this.play.textContent = playing ? "pause" : "play";
    this.play.setAttribute("aria-label", playing ? "pause" : "play");
    if (!playing) return;
    if (this.model.gradlabTimer && this.model.gradlabTimer !== this) return; // another view of this model plays
    this.model.gradlabTimer = this;
    const last = this.data.steps.length;
    if (this.step === last) this.go(0);
    const beat = () => {
      if (!this.model.get("playing")) return;
      this.go(this.step + 1);
      if (this.step === last) {
        this.model.gradlabTimer = null;
        this.set({ playing: false });
      } else this.timer = setTimeout(beat, 1100);
    };
    this.timer = setTimeout(beat, 500);
    this.cleanups.push(() => (this.model.gradlabTimer = null));
  }

  // ---- choosing and inspecting ---------------------------------------------------------------------------------

  choose(key) {
    this.set({ selected: key });
    const focus = () => this.boxes.get(key)?.focus({ preventScroll: true });
    focus();
    setTimeout(focus, 0); // Notebook 7 takes the focus to the cell when the click is over
  }

  select() {
    const key = this.model.get("selected");
    this.root.querySelectorAll("g.sel").forEach((box) => box.classList.remove("sel"));
    const box = this.boxes.get(key);
    for (const other of this.boxes.values()) other.setAttribute("tabindex", "-1");
    (box ?? this.boxes.get(this.order[0]))?.setAttribute("tabindex", "0");
    if (box) {
      box.classList.add("sel");
      this.reveal(box);
    }
    this.inspect();
  }

  walk(by) {
    const at = this.order.indexOf(this.model.get("selected"));
    const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), this.order.length - 1);
    if (this.order.length) this.choose(this.order[next]);
  }

  inspect() {
    const { items, steps } = this.data, done = steps.slice(0, this.step);
    const key = this.boxes.has(this.model.get("selected")) ? this.model.get("selected") : steps[this.step - 1]?.at;
    const item = items[key];
    if (!item) {
      this.side.replaceChildren(make("p", {}, "Choose a box to see what it holds."));
      return;
    }
    const list = make("dl");
    const row = (name, value, kind = "") => list.append(make("dt", {}, name), make("dd", { class: kind }, value));
    const grad = [...done].reverse().find((step) => step.grad?.[key])?.grad[key] ?? this.data.grads[key];
    for (const [name, value] of item.rows) {
      if (name === ".grad" && grad) row(name, grad.join("\n"), grad[0] === "None" ? "" : "grad");
      else row(name, this.slot(key, name, value));
    }
    const ran = this.data.recorded ? done.filter((step) => step.at === key) : [];
    if (ran.length === 1) {
      row("received", ran[0].got.join("\n"), "grad");
      if (ran[0].sent.length) row("passed", ran[0].sent.join("\n"), "grad");
    }
    const parts = [make("div", { class: "gl-title" }, item.title, make("small", {}, item.sub)), list];
    if (item.path && this.model.send) {
      const open = make("button", { type: "button" }, "open this module");
      open.addEventListener("click", () => this.open(item.path));
      parts.push(make("p", {}, open));
    }
    this.side.replaceChildren(...parts);
  }

  slot(key, name, value) {
    const freed = name.startsWith("saved ") && !this.model.get("retain") && this.free.has(`${key}:${name.slice(6)}`);
    return freed ? (this.data.recorded ? "freed" : "would be freed") : value;
  }

  open(path) {
    if (!this.model.send) return;
    this.model.send({ open: path });
    clearTimeout(this.asked);
    const before = this.data;
    this.asked = setTimeout(() => {
      if (this.data === before) this.say.replaceChildren(`Opening ${path} needs a running kernel: run the cell again.`);
    }, 4000);
  }

  find() {
    const wanted = this.search.value.trim().toLowerCase();
    this.root.classList.toggle("searching", wanted !== "");
    const hits = this.order.filter((key) => {
      const item = this.data.items[key];
      const hit = wanted !== "" && `${item.title} ${item.sub}`.toLowerCase().includes(wanted);
      this.boxes.get(key).classList.toggle("hit", hit);
      return hit;
    });
    if (wanted) this.say.replaceChildren(hits.length ? `${hits.length} found; Enter chooses the next.` : `Nothing is called “${wanted}”.`);
    else this.sentence(this.data.steps[this.step - 1]);
    this.hits = hits;
  }

  nextHit() {
    if (!this.hits?.length) return;
    const at = this.hits.indexOf(this.model.get("selected"));
    this.set({ selected: this.hits[(at + 1) % this.hits.length] });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target, typing = target === this.search;
    if (typing) {
      if (event.key === "Enter") this.nextHit();
      else if (event.key === "Escape") { this.search.value = ""; this.find(); this.next.focus(); }
      else return;
      event.preventDefault();
      return;
    }
    const press = target.tagName === "BUTTON" || target === this.retain;
    const actions = {
      ArrowRight: () => this.go(this.step + 1), ArrowLeft: () => this.go(this.step - 1),
      ArrowDown: () => this.walk(1), ArrowUp: () => this.walk(-1),
      Home: () => this.go(0), End: () => this.go(this.data.steps.length),
      "/": () => this.search.focus(), "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(1 / 1.25), 0: () => this.fit(true),
      Escape: () => this.set({ selected: "" }),
    };
    if (!press) actions[" "] = () => this.set({ playing: !this.model.get("playing") });
    if (target.closest?.("g.node")) actions.Enter = () => this.choose(target.closest("g.node").dataset.key);
    if (target === this.side && event.key.startsWith("Arrow")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  // ---- zoom and pan --------------------------------------------------------------------------------------------

  place(x, y, scale) {
    this.at = { x, y, scale };
    this.svg.style.transform = `translate(${x}px,${y}px) scale(${scale})`;
  }

  fit(asked = false) {
    const whole = this.root.clientWidth;
    if (!whole) return;
    this.root.classList.toggle("gl-below", whole < 1000 && this.size.width > 1.8 * this.size.height);
    const width = this.view.clientWidth;
    if (asked) this.moved = false;
    const { width: w, height: h } = this.size;
    const tall = Math.min(Math.max(h * Math.min(1.15, (width - 12) / w) + 12, 180), 520);
    this.view.style.height = `${tall}px`;
    const scale = Math.min((width - 12) / w, (tall - 12) / h, 1.15);
    this.place((width - w * scale) / 2, (tall - h * scale) / 2, scale);
    if (!asked && scale < 0.5) {
      const readable = Math.min(0.75, (width - 12) / w);
      if (readable > scale) this.place((width - w * readable) / 2, 6, readable);
    }
  }

  zoom(by, x = this.view.clientWidth / 2, y = this.view.clientHeight / 2) {
    const scale = Math.min(Math.max(this.at.scale * by, 0.03), 6), ratio = scale / this.at.scale;
    this.moved = true;
    this.place(x - (x - this.at.x) * ratio, y - (y - this.at.y) * ratio, scale);
  }

  reveal(box) {
    const inner = box.getBoundingClientRect(), outer = this.view.getBoundingClientRect();
    if (!outer.width || !inner.width) return;
    const inside = inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
    if (inside) return;
    const x = this.at.x + (outer.left + outer.right - inner.left - inner.right) / 2;
    const y = this.at.y + (outer.top + outer.bottom - inner.top - inner.bottom) / 2;
    this.place(x, y, this.at.scale);
  }

  pan() {
    let from = null;
    this.view.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = { x: event.clientX - this.at.x, y: event.clientY - this.at.y, startX: event.clientX, startY: event.clientY };
      this.dragged = false;
    });
    const move = (event) => {
      if (!from) return;
      if (!this.dragged && Math.hypot(event.clientX - from.startX, event.clientY - from.startY) < 4) return;
      this.dragged = this.moved = true;
      this.view.classList.add("drag");
      this.place(event.clientX - from.x, event.clientY - from.y, this.at.scale);
    };
    const up = () => {
      from = null;
      this.view.classList.remove("drag");
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    this.cleanups.push(() => window.removeEventListener("pointermove", move), () => window.removeEventListener("pointerup", up));
    this.view.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const frame = this.view.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
    }, { passive: false });
  }

  // ---- light and dark ------------------------------------------------------------------------------------------

  watchTheme() {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const paint = () => {
      const lab = document.body.dataset.jpThemeLight;
      const dark = this.theme === "auto" ? (lab ? lab === "false" : system.matches) : this.theme === "dark";
      this.root.classList.toggle("gl-dark", dark);
      this.root.classList.toggle("gl-light", !dark);
    };
    const lab = new MutationObserver(paint);
    lab.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    system.addEventListener("change", paint);
    this.cleanups.push(() => lab.disconnect(), () => system.removeEventListener("change", paint));
    paint();
  }
}

// A still picture goes out before the widget, for notebooks that are read without a kernel. While the widget is alive
// the still is hidden.
function hideStill(element, id) {
  if (!id) return () => {};
  let hidden = null, tries = 0, timer = 0;
  const look = () => {
    let output = element.closest(".jp-OutputArea-child")?.previousElementSibling;
    for (; output && !hidden; output = output.previousElementSibling) {
      const image = output.querySelector('img[src^="data:image/svg+xml"]');
      if (image && decodeURIComponent(image.src).includes(id)) hidden = output;
    }
    if (hidden) hidden.style.display = "none";
    else if (tries++ < 20) timer = setTimeout(look, 100);
  };
  timer = setTimeout(look, 0);
  return () => {
    clearTimeout(timer);
    if (hidden) hidden.style.display = "";
  };
}

export default {
  render({ model, el }) {
    const player = new Player(el, model);
    const showStill = hideStill(el, model.get("still"));
    return () => {
      showStill();
      player.destroy();
    };
  },
};

function standalone(host, payload, theme) {
  const state = { payload, step: 0, selected: "", playing: false, retain: payload.retain };
  const listeners = new Map();
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      if (state[name] === value) return;
      state[name] = value;
      for (const action of listeners.get(`change:${name}`) ?? []) action();
    },
    on: (event, action) => listeners.set(event, [...(listeners.get(event) ?? []), action]),
    off: () => {},
    save_changes: () => {},
  };
  return new Player(host, model, theme);
}
