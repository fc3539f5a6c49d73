// What the theme leaves out for readers without a mouse: a name for the search, and boxes that the keyboard can scroll.
document.querySelector(".md-search").setAttribute("aria-label", "Search");
window.addEventListener("load", function () {
  // The theme wraps tables and measures boxes of code when it starts, and takes this attribute off again.
  setTimeout(function () {
    document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .jp-OutputArea-output").forEach(function (box) {
      box.tabIndex = 0;
    });
  }, 200);
});
