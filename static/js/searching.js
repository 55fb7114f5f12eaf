// The list follows what is typed into its search, and each press of Enter at once.
const PAUSE = 250;
let timer = 0;

function queryOf(form) {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) if (!value.trim()) query.delete(name);
  return query.toString();
}

export function startSearching(inbox, search) {
  const form = inbox.querySelector("form.search");
  const now = () => {
    clearTimeout(timer);
    search(queryOf(form));
  };
  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(now, PAUSE);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    now();
  });
}
