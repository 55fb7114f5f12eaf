// Runs before the first paint, so that a page never flashes in the other theme.
(() => {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const theme = root.dataset.theme;
    root.dataset.bsTheme = theme === "dark" || (theme !== "light" && dark.matches) ? "dark" : "light";
  };
  dark.addEventListener("change", apply);
  document.addEventListener("sayso:theme", apply);
  apply();
})();
