"""A person at a browser without JavaScript: signs in, reads the inbox, fills forms, and believes only what was read."""

from __future__ import annotations

import http.client
import threading
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from http.cookiejar import CookieJar

from tests.processes.ledger import Ledger

LOST = (OSError, http.client.HTTPException)


class Page(HTMLParser):
    """The links of a page and its forms: action, the fields with their values, and the buttons."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[Form] = []
        self.elsewhere: list[tuple[str, str, dict[str, str]]] = []
        self.feed(text)
        by_id = {form.id: form for form in self.forms}
        for owner, tag, attributes in self.elsewhere:
            by_id[owner].take(tag, attributes)

    def handle_starttag(self, tag: str, found: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in found}
        if tag == "a":
            self.links.append(attributes.get("href", ""))
        elif tag == "form":
            self.forms.append(Form(attributes.get("id", "")))
        elif tag in ("input", "textarea", "button"):
            # A field may stand anywhere and name its form.
            if owner := attributes.get("form"):
                self.elsewhere.append((owner, tag, attributes))
            elif self.forms:
                self.forms[-1].take(tag, attributes)

    def form(self, name: str) -> Form | None:
        """The first form that has a field or button of this name."""
        return next((form for form in self.forms if name in form.fields or name in form.buttons), None)


class Form:
    def __init__(self, name: str) -> None:
        self.id = name
        self.fields: dict[str, str] = {}
        self.empty: list[str] = []
        self.buttons: dict[str, list[str]] = {}

    def take(self, tag: str, attributes: dict[str, str]) -> None:
        name, kind = attributes.get("name", ""), attributes.get("type", "text")
        if not name:
            return
        if tag == "button" or kind == "submit":
            self.buttons.setdefault(name, []).append(attributes.get("value", ""))
        elif kind not in ("checkbox", "radio"):
            self.fields[name] = attributes.get("value", "")
            if (tag == "textarea" or kind in ("text", "number")) and not self.fields[name] and name != "comment":
                self.empty.append(name)


class Reviewer:
    """Decides whatever is in the inbox until told to stop; every answer that was read is in the ledger."""

    def __init__(self, address: str, name: str, password: str, ledger: Ledger) -> None:
        self.address = address
        self.name, self.password = name, password
        self.ledger = ledger
        self.stopped = threading.Event()
        self.problems: list[str] = []
        self.jar = CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        self.thread = threading.Thread(target=self.work, daemon=True)

    def __enter__(self) -> Reviewer:
        self.sign_in()
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.thread.join(30)

    def cookies(self) -> str:
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.jar)

    def read(self, path: str, data: dict[str, str] | None = None) -> tuple[int, str]:
        body = urllib.parse.urlencode(data).encode() if data is not None else None
        try:
            with self.opener.open(urllib.parse.urljoin(self.address, path), body, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def sign_in(self) -> None:
        _, text = self.read("/")
        form = Page(text).form("password")
        assert form is not None, text
        status, text = self.read("/accounts/login/", {**form.fields, "username": self.name, "password": self.password})
        assert status == 200 and Page(text).form("password") is None, text

    def start(self, graph: str, text: str) -> None:
        """Launch a thread by the launcher's form, with `text` in each of its fields."""
        _, page = self.read(f"/launch/{graph}")
        form = Page(page).form("key")
        assert form is not None, page
        status, page = self.read(f"/launch/{graph}", {**form.fields, **dict.fromkeys(form.empty, text)})
        assert status == 200, page

    def work(self) -> None:
        while not self.stopped.is_set():
            try:
                for path in self.waiting():
                    self.decide(path)
            except LOST:
                # The web process was killed under us; what was stored and what was not, the next look will show.
                self.stopped.wait(0.2)
            self.stopped.wait(0.05)

    def waiting(self) -> list[str]:
        status, text = self.read("/inbox")
        if status != 200:
            return []
        paths = {urllib.parse.urlsplit(link).path for link in Page(text).links}
        return sorted(path for path in paths if path.startswith("/review/"))

    def decide(self, path: str) -> None:
        interrupt = path.rsplit("/", 1)[1]
        status, text = self.read(path)
        form = Page(text).form("act")
        if status != 200 or form is None:
            return
        word = f"w-{interrupt}"
        given = {**form.fields, **dict.fromkeys(form.empty, word), "act": "approve"}
        status, text = self.read(path, given)
        self.ledger.acknowledge(interrupt, status, word)
        if status not in (200, 409):
            self.problems.append(f"{path}: {status}\n{text[:2000]}")
