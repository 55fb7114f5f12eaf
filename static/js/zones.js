// Times are typed in the reader's own zone: the browser knows it, and the page says it where nobody chose another.
for (const field of document.querySelectorAll("[data-own-zone]")) {
  const own = document.documentElement.dataset.zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (own && field.value === field.defaultValue) field.value = own;
}
