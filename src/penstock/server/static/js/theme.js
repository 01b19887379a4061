// A classic script in the head: the chosen colours stand before the first paint.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("penstock-theme"); } catch { /* storage may be forbidden */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
