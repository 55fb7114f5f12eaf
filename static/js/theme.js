// The theme switch without a reload; the cookie it sets is the one the server reads.
export function startTheme() {
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("[data-themes]");
    if (!form || !event.submitter) return;
    event.preventDefault();
    const theme = event.submitter.value;
    document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new Event("sayso:theme"));
    for (const button of form.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.value === theme));
    // Outlives the page: whoever goes on at once still has the theme, and the cookie's rules stay the server's.
    const body = new FormData(form);
    body.set("theme", theme);
    await fetch(form.action, { method: "POST", body, redirect: "manual", keepalive: true }).catch(() => {});
  });
}
