// "/" goes to the search. Without this script nothing is missing but that.
addEventListener("keydown", (e) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
  const field = document.getElementById("text");
  if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey && field) {
    e.preventDefault();
    field.focus();
  }
});
