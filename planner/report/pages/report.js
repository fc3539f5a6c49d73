(function () {
  "use strict";
  var tip = document.getElementById("tip"), live = document.getElementById("live"), held = null;

  function all(selector, root) { return Array.prototype.slice.call((root || document).querySelectorAll(selector)); }

  // What a browser shows for <title> comes late and looks foreign: it becomes our own tip.
  all("svg .point").forEach(function (point) {
    var title = point.querySelector("title");
    if (title) { point.setAttribute("data-tip", title.textContent); point.removeChild(title); }
  });

  function show(point, x, y) {
    if (held) { held.classList.remove("on-it"); }
    held = point;
    point.classList.add("on-it");
    tip.textContent = point.getAttribute("data-tip");
    var box = tip.getBoundingClientRect();
    tip.style.left = Math.max(6, Math.min(x + 14, window.innerWidth - box.width - 6)) + "px";
    tip.style.top = (y + 18 + box.height > window.innerHeight ? Math.max(6, y - box.height - 12) : y + 18) + "px";
    tip.classList.add("shown");
  }
  function hide() {
    if (held) { held.classList.remove("on-it"); }
    held = null;
    tip.classList.remove("shown");
  }
  function pointAt(event) { return event.target.closest ? event.target.closest("[data-tip]") : null; }
  ["pointermove", "pointerdown"].forEach(function (name) {
    document.addEventListener(name, function (event) {
      var point = pointAt(event);
      if (point) { show(point, event.clientX, event.clientY); } else if (held) { hide(); }
    });
  });
  window.addEventListener("scroll", hide, { passive: true });

  // With the keyboard: a picture takes the focus, arrows go from point to point.
  all("figure svg").forEach(function (svg) {
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("keydown", function (event) {
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") { hide(); return; }
      if (!step) { return; }
      var points = all("[data-tip]", svg).filter(function (point) { return !point.closest(".off"); });
      if (!points.length) { return; }
      event.preventDefault();
      var at = points.indexOf(held);
      var next = points[at < 0 ? (step > 0 ? 0 : points.length - 1) : (at + step + points.length) % points.length];
      var box = next.getBoundingClientRect();
      show(next, box.left + box.width / 2, box.top + box.height / 2);
      live.textContent = next.getAttribute("data-tip");
    });
    svg.addEventListener("blur", hide);
  });

  // Scenarios come and go everywhere at once; the rows of bars close up.
  function toggle() {
    var shown = {};
    all("input[data-s]").forEach(function (box) { shown[box.getAttribute("data-s")] = box.checked; });
    all("[data-s]").forEach(function (element) {
      if (element.tagName !== "INPUT") { element.classList.toggle("off", shown[element.getAttribute("data-s")] === false); }
    });
    all("g.rows").forEach(function (group) {
      var height = Number(group.getAttribute("data-row")), gone = 0;
      Array.prototype.forEach.call(group.children, function (row) {
        if (row.classList.contains("off")) { gone += 1; } else { row.setAttribute("transform", "translate(0 " + -gone * height + ")"); }
      });
    });
  }
  all("input[data-s]").forEach(function (box) { box.addEventListener("change", toggle); });
  toggle();

  // A table that is sorted by the column whose title is chosen.
  all("table.sortable thead th").forEach(function (head, column) {
    var button = document.createElement("button");
    button.type = "button";
    while (head.firstChild) { button.appendChild(head.firstChild); }
    head.appendChild(button);
    button.addEventListener("click", function () {
      var table = head.closest("table"), body = table.tBodies[0];
      var at = Array.prototype.indexOf.call(head.parentNode.children, head);
      var down = head.getAttribute("aria-sort") === "ascending";
      all("th", table.tHead).forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      var key = function (row) { var v = row.cells[at].getAttribute("data-value"); return v === null ? row.cells[at].textContent : v; };
      Array.prototype.slice.call(body.rows).map(function (row, index) { return [key(row), index, row]; }).sort(function (one, two) {
        var a = one[0], b = two[0], x = Number(a), y = Number(b), order;
        if (a === "" || b === "") { return (a === "") - (b === "") || one[1] - two[1]; }
        order = isNaN(x) || isNaN(y) ? (a < b ? -1 : a > b ? 1 : 0) : x - y;
        return (down ? -order : order) || one[1] - two[1];
      }).forEach(function (entry) { body.appendChild(entry[2]); });
    });
  });

  // A table that is wider than its place says so, until its end is seen.
  function hint(box) { box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2); }
  var sizes = window.ResizeObserver ? new ResizeObserver(function (seen) {
    window.requestAnimationFrame(function () { seen.forEach(function (each) { hint(each.target); }); });
  }) : null;
  all(".scroll").forEach(function (box) {
    box.addEventListener("scroll", function () { hint(box); }, { passive: true });
    hint(box);
    if (sizes) { sizes.observe(box); }
  });

  var opened = [];
  window.addEventListener("beforeprint", function () {
    hide();
    opened = all("details:not([open])");
    opened.forEach(function (details) { details.open = true; });
  });
  window.addEventListener("afterprint", function () { opened.forEach(function (details) { details.open = false; }); });
})();
