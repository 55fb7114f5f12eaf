"""Nodes that are read and never run: how their questions are told apart, and pauses that are caught."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from graphs import (
    Context,
    GraphInterrupt,
)
from graphs import ask as question
from tests.engine.linted import SENT, asks_first, only_prepares, prepare, tell

# Keys


async def asks_together(order: Any) -> Any:
    async def one(which: str) -> Any:
        return question(f"{which}?").approved

    return await asyncio.gather(one("a"), one("b"))


async def asks_each_together(orders: list[Any]) -> Any:
    async def one(which: str) -> Any:
        return question(f"{which}?").approved

    return await asyncio.gather(*[one(order) for order in orders])


async def asks_together_by_keys(orders: list[Any]) -> Any:
    async def one(which: str) -> Any:
        return question(f"{which}?", key=which).approved

    return await asyncio.gather(*[one(order) for order in orders])


async def runs_children_together(orders: list[Any], ctx: Context) -> Any:
    return await asyncio.gather(*[ctx.run_node(asks_first, order, name=order) for order in orders])


async def runs_a_child_that_asks_together(order: Any, ctx: Context) -> Any:
    return await ctx.run_node(asks_together, order)


async def asks_in_tasks(order: Any) -> Any:
    async def one() -> Any:
        return question("a?").approved

    first = asyncio.create_task(one())
    second = asyncio.create_task(one())
    return [await first, await second]


def asks_in_threads(orders: list[Any]) -> Any:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(asks_first, orders))


def acts_deep_in_loops(orders: list[Any]) -> Any:
    while orders:
        for order in orders:
            match order:
                case {"skip": True}:
                    continue
                case _:
                    made = [prepare(one) for one in orders if one]
        try:
            made.append(orders.pop())
        finally:
            tell(made)
    else:
        return question("Done?")


async def asks_beside_work(order: Any) -> Any:
    async def one() -> Any:
        return question("a?").approved

    return await asyncio.gather(one(), asyncio.sleep(0))


def asks_in_no_order(order: Any) -> Any:
    return [question(f"{one}?").approved for one in {"a", "b", order}]


def asks_a_folder(order: Any) -> Any:
    for name in os.listdir("x"):
        question(f"{name}?")


def asks_in_no_order_by_keys(order: Any) -> Any:
    names = set(order)
    return {name: question(f"{name}?", key=name).approved for name in names}


def asks_sorted(order: Any) -> Any:
    return [question(f"{name}?").approved for name in sorted(set(order))]


def asks_by_chance(order: Any) -> Any:
    if random.random() > 0.5:
        question("Sure?")
    return question("Ship?")


def asks_by_input(order: Any) -> Any:
    if order["amount"] > 5:
        question("Sure?")
    return question("Ship?")


# Swallowed pauses


def swallows(order: Any) -> Any:
    try:
        return question("Ship?")
    except BaseException:
        return None


def swallows_barely(order: Any) -> Any:
    try:
        return only_prepares(order, {})
    except:  # noqa: E722
        return None


def swallows_by_name(order: Any) -> Any:
    with contextlib.suppress(ValueError, GraphInterrupt):
        return question("Ship?")


def lets_it_through(order: Any) -> Any:
    try:
        return question("Ship?")
    except Exception:
        return None


def cleans_up(order: Any) -> Any:
    try:
        return question("Ship?")
    except BaseException:
        SENT.clear()
        raise


def catches_elsewhere(order: Any) -> Any:
    try:
        made = prepare(order)
    except BaseException:
        made = None
    return question("Ship?"), made
