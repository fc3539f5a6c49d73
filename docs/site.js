// What the theme leaves out for readers without a mouse: names for the search and for boxes of code, which the keyboard can scroll.
document.querySelector(".md-search").setAttribute("aria-label", "Search");
window.addEventListener("load", function () {
  // The theme wraps tables and measures boxes of code when it starts, and takes this attribute off again.
  setTimeout(function () {
    document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .jp-OutputArea-output").forEach(function (box) {
      box.tabIndex = 0;
    });
    document.querySelectorAll(".md-code__nav").forEach(function (box, at) {
      box.setAttribute("aria-label", "Code " + (at + 1));
    });
  }, 200);
});
