"""Nodes that are read and never run: each does one thing right or wrong."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.request import Request, urlopen

from pydantic import BaseModel

from graphs import (
    Context,
    Event,
    ExecutableInput,
    GraphInterrupt,
    Interrupt,
    RequestInput,
    interrupt,
    once,
    request_human_input,
)
from graphs import ask as question
from tests.engine import requests_like as requests

SENT: list[Any] = []
TEXT = "Really?"


class Form(BaseModel):
    """What is asked."""

    amount: int


def charge(amount: int) -> int:
    SENT.append(amount)
    return amount


def prepare(order: Any) -> Any:
    return {"order": order, "lines": [str(order)]}


def tell(order: Any) -> None:
    requests.post("https://example.org", json=order)


class Bank:
    def pay(self, amount: int) -> int:
        return amount

    def balance(self) -> int:
        return 3


bank = Bank()


class Outside:
    @classmethod
    def create(cls, order: Any) -> Any:
        return order


# Effects before a question


def acts_first(order: Any) -> Any:
    charge(order)
    return question("Ship?")


def acts_first_by_an_expression(order: Any) -> Any:
    paid = bank.pay(order)
    return interrupt({"paid": paid}, message=TEXT)


def acts_first_in_another_function(order: Any) -> Any:
    tell(order)
    return question("Ship?")


def acts_first_outside(order: Any) -> Any:
    shutil.rmtree("x")
    return question("Ship?")


def acts_first_by_a_command(order: Any) -> Any:
    done = subprocess.run(["true"])
    return question(f"Ship {order}?"), done


def acts_first_on_one_way(order: Any) -> Any:
    if order:
        charge(order)
    return question("Ship?")


def acts_in_a_loop(orders: list[Any]) -> Any:
    for order in orders:
        if question(f"Ship {order}?", key=order).approved:
            charge(order)


def acts_in_a_try(order: Any) -> Any:
    try:
        charge(order)
    except ValueError:
        return None
    return question("Ship?")


def acts_inside_once(order: Any, ctx: Context) -> Any:
    def both() -> Any:
        charge(order)
        return question("Ship?").approved

    return ctx.once("both", both)


async def acts_on_what_it_was_given(order: Any, client: Any) -> Any:
    await client.send(order)
    return question("Ship?")


def acts_while_it_requests(order: Any, ctx: Context) -> Any:
    if not ctx.resume_inputs:
        yield RequestInput(interrupt_id="go", message="Go?")
    charge(order)


def acts_before_it_requests(order: Any) -> Any:
    charge(order)
    return RequestInput(message="Go?")


def acts_and_says_so(order: Any) -> Any:
    charge(order)  # sayso: allow effect-before-question
    return question("Ship?")


def acts_first_and_keeps_the_result(order: Any, api: Any) -> Any:
    made = api.create_order(order)
    return question(f"Ship {made}?")


def acts_first_in_camel_case(order: Any, api: Any) -> Any:
    made = api.createOrder(order)
    return question(f"Ship {made}?")


def acts_first_over_http(order: Any) -> Any:
    found = urlopen("https://example.org", data=order).read()
    return question(f"Ship {found}?")


def acts_first_over_http_by_a_request(order: Any) -> Any:
    found = urlopen(Request("https://example.org", method="DELETE")).read()
    return question(f"Ship {found}?")


def acts_first_in_a_table(order: Any, conn: Any) -> Any:
    rows = conn.execute("UPDATE orders SET done = 1")
    return question(f"Ship {rows}?")


def acts_first_in_a_database(order: Any, db: Any) -> Any:
    db.update(order)
    return question("Ship?")


def acts_first_and_counts(order: Any, stock: Any) -> Any:
    left = stock.update(order)
    return question(f"Ship {left}?")


def acts_first_by_a_method_of_a_class(order: Any) -> Any:
    made = Outside.create(order)
    return question(f"Ship {made}?")


def acts_first_by_booking(order: Any, hotel: Any) -> Any:
    room = hotel.book_room(order)
    return question(f"Ship {room}?")


# Nothing wrong


def only_reads(order: Any, conn: Any, session: Any) -> Any:
    page = urlopen("https://example.org").read()
    rows = conn.execute("SELECT 1")
    got = session.request("GET", "https://example.org")
    seen: Any = type(order)()
    seen.update(order)
    return question(f"Ship {page} {rows} {got} {seen}?")


def create_and_ask(order: Any) -> Any:
    return question(f"Create {order}?")


def asks_in_a_function_named_like_an_effect(order: Any) -> Any:
    return create_and_ask(order)


def asks_first(order: Any) -> Any:
    if question("Ship?").approved:
        return charge(order)
    return None


def acts_through_the_journal(order: Any, ctx: Context) -> Any:
    ctx.once("charge", charge, order)
    once("tell", lambda: tell(order))
    ctx.state["seen"] = True
    ctx.stream("…")
    return question("Ship?")


async def acts_through_the_async_journal(order: Any, ctx: Context) -> Any:
    await ctx.aonce("charge", charge, order)
    await ctx.run_node(asks_first, order)
    return ctx.ask("Ship?")


def acts_on_the_other_way(order: Any) -> Any:
    if order:
        return charge(order)
    return question("Ship?")


def only_prepares(order: Any, state: Any) -> Any:
    made = prepare(order)
    found: list[Any] = []
    found.append(made)
    found.insert(0, bank.balance())
    made.update(at=datetime.now(UTC).isoformat())
    print(made)
    state["x"] = "a".replace("a", "b")
    if not found:
        raise ValueError("nothing")
    return question("Ship?")


def walks_a_form(ctx: Context) -> Any:
    given = ctx.resume_inputs
    if "name" not in given:
        yield RequestInput(interrupt_id="name", message="Name?")
        return
    if "mail" not in given:
        yield RequestInput(interrupt_id="mail", message="Mail?")
        return
    charge(given["name"])
    yield Event(output=given)


# Ways of asking


def asks_in_each_way(inp: ExecutableInput, ctx: Context) -> Any:
    first = question("First?", schema=Form, queue="cashiers", expires_in=3600)
    second = request_human_input(inp, f"Second {inp.input!r}?", kind="choice")
    third = interrupt({"a": 1}, message=TEXT, response_schema={"type": "string"})
    raise GraphInterrupt(Interrupt(question=f"Last {first} {second} {third}?"))


def asks_with_a_bad_schema() -> Any:
    return question("Code?", schema={"type": "text"})


def asks_with_a_schema_of_the_run(shape: Any) -> Any:
    return question("Code?", schema=shape)


async def runs_children(order: Any, ctx: Context) -> Any:
    return [await ctx.run_node(asks_first, order), await ctx.run_node(lambda: question("Inner?").approved, name="x")]


def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


@decorated
def asks_behind_a_decorator() -> Any:
    return question("Behind?")
