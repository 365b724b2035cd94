// Keeps a page up to date. Everything is there without it; the server makes the texts,
// so that both ways show the same.
"use strict";

(() => {
  const longest = 200; // changes that stay in the list
  const byId = (id) => document.getElementById(id);
  const link = byId("link");
  const list = byId("changes");
  let source = null, paused = false, leftOut = 0;

  function say(state, text) {
    link.hidden = false;
    link.dataset.state = state;
    if (link.textContent !== text) link.textContent = text;
  }

  function each(values, change) {
    for (const [id, value] of Object.entries(values || {})) {
      const element = byId(id);
      if (element) change(element, value);
    }
  }

  function update(u) {
    each(u.text, (e, text) => { if (e.textContent !== text) e.textContent = text; });
    each(u.path, (e, d) => e.setAttribute("d", d));
    each(u.state, (e, state) => { e.dataset.state = state; });
    // What has the focus stays, or who uses the keyboard would lose their place.
    each(u.html, (e, html) => { if (!e.contains(document.activeElement)) e.innerHTML = html; });
    document.body.dataset.updates = String(Number(document.body.dataset.updates || 0) + 1);
  }

  function changes(c) {
    leftOut += c.dropped;
    if (paused) {
      leftOut += c.count;
    } else if (!list.contains(document.activeElement) || document.activeElement === list) {
      const holder = document.createElement("ol");
      holder.innerHTML = c.html;
      for (const item of holder.children) item.classList.add("fresh");
      list.prepend(...holder.children);
      while (list.children.length > longest) list.lastElementChild.remove();
    } else {
      leftOut += c.count;
    }
    if (leftOut > 0) byId("left-out").textContent = `${leftOut.toLocaleString("en")} more were left out, as they came too fast or the list was paused.`;
  }

  function open() {
    if (source || !document.body.dataset.live) return;
    source = new EventSource(document.body.dataset.live);
    source.addEventListener("hello", () => say("live", "live"));
    source.addEventListener("update", (e) => update(JSON.parse(e.data)));
    source.addEventListener("changes", (e) => changes(JSON.parse(e.data)));
    source.addEventListener("reload", () => location.reload());
    source.addEventListener("error", () => {
      say("lost", "not connected; trying again");
      if (source && source.readyState === EventSource.CLOSED) { // the server said no
        close();
        setTimeout(open, 10000);
      }
    });
  }

  function close() {
    if (source) source.close();
    source = null;
  }

  // A page that nobody sees costs the program nothing.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { close(); say("off", "paused while out of sight"); } else { open(); }
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (e) => { if (e.persisted) open(); });

  const pause = byId("pause");
  if (pause) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.setAttribute("aria-pressed", String(paused));
      pause.textContent = paused ? "Go on" : "Pause";
    });
  }

  // The filter of the overview works as one types.
  const filter = document.querySelector("input[data-filters]");
  if (filter) {
    const rows = () => byId(filter.dataset.filters)?.tBodies[0].rows || [];
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of rows()) {
        row.hidden = !(row.dataset.name + " " + row.querySelector(".state").textContent).toLowerCase().includes(wanted);
      }
    });
  }

  document.addEventListener("keydown", (e) => {
    const typing = e.target.closest("input, textarea, select");
    if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
      const search = byId("q");
      if (search) { e.preventDefault(); search.focus(); search.select(); }
    } else if (e.key === "Escape" && typing) {
      e.target.blur();
    }
  });

  if (!document.hidden) open();
})();
