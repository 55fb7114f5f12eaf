"""What a call in a node's source is: a question, an effect of the journal, an effect beside it, or none of these."""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from graphs.engine import asking, effects
from graphs.engine.inspection.sources import CONTEXT, UNKNOWN, Body, Scope
from graphs.engine.interrupts import GraphInterrupt
from graphs.engine.outputs import RequestInput

#: What a call does to whoever is outside, told by the first word of its name.
VERBS = frozenset(
    re.findall(
        r"\w+",
        "send sendmail post put patch write delete charge save pay refund transfer publish notify email mail upload"
        " submit commit dispatch enqueue deploy ship debit capture purchase insert persist emit create update execute"
        " executemany executescript request book reserve withdraw revoke provision remit reimburse unsubscribe",
    )
)
#: Names that say the same without beginning with such a word.
_NAMES = frozenset({"bulk_create", "bulk_update", "get_or_create", "update_or_create"})
#: What lists, mappings, queues and hashes have too, and never with a result.
_OF_THINGS_TOO = frozenset({"insert", "emit", "update"})
_OUTSIDE = frozenset(
    re.findall(
        r"\w+",
        "api client db database session conn connection cursor table collection repo repository service gateway",
    )
)
#: How a function of the author's asks; one that does is read on, whatever it is called.
_ASKS = frozenset({"ask", "interrupt", "request_human_input", "RequestInput", "run_node", "run_node_sync"})
_READS = re.compile(r"\s*(select|with|pragma|show|explain|values)\b", re.IGNORECASE)
#: Libraries whose calls change nothing that matters if they are repeated.
PURE = frozenset(
    re.findall(
        r"[\w.]+",
        "abc argparse array ast asyncio base64 bisect builtins calendar cmath codecs collections colorsys contextlib"
        " contextvars copy csv dataclasses datetime decimal difflib email enum fnmatch fractions functools gettext"
        " glob graphlib hashlib heapq hmac html inspect io ipaddress itertools json keyword locale logging math"
        " mimetypes numbers operator orjson os.path posixpath pprint pydantic pydantic_core random re reprlib secrets"
        " statistics string struct textwrap threading time timeit traceback types typing typing_extensions"
        " unicodedata urllib.parse uuid warnings weakref zlib zoneinfo graphs",
    )
)
_COMMANDS = frozenset({"subprocess", "os"})
_CHANCE = frozenset({"os", "random", "secrets", "time", "uuid", "datetime", "_datetime"})
_CHANCE_NAMES = frozenset({"now", "today", "utcnow", "environ"})
_PLACES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))

ASK, REQUEST, ONCE, CHILD, EFFECT, OWN, NOTHING = "ask", "request", "once", "child", "effect", "own", "nothing"
_STYLES = {"ask": "ask", "interrupt": "interrupt", "request_human_input": "request_human_input"}
_ON_CONTEXT = {"ask": ASK, "once": ONCE, "aonce": ONCE, "run_node": CHILD, "run_node_sync": CHILD}


def target_of(call: ast.Call, scope: Scope) -> Any:
    """What is called, as far as it is known: a function, a class, a `Body` defined on the way, or UNKNOWN."""
    return scope.value(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else UNKNOWN


def kind_of(call: ast.Call, scope: Scope, home: str, *, used: bool) -> str:
    """One of ASK, REQUEST, ONCE, CHILD, EFFECT, OWN (to be read on) and NOTHING. `home` is the node's own module."""
    if on_context(call, scope):
        return _ON_CONTEXT.get(name_of(call), NOTHING)
    if on_event(call, scope):
        return ASK
    target = target_of(call, scope)
    if any(target is one for one in (asking.ask, asking.interrupt, asking.request_human_input)):
        return ASK
    if target is effects.once or target is effects.aonce:
        return ONCE
    if target is RequestInput:
        return REQUEST
    if isinstance(target, Body):
        return EFFECT if _acts(call) else OWN
    return _kind_of_known(call, target, home, used) if target is not UNKNOWN else _kind_of_unknown(call, scope, used)


def on_context(call: ast.Call, scope: Scope) -> bool:
    """Whether a method of the task's context is called, or one of what it holds, such as its state."""
    owner: Any = call.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(call.func, ast.Attribute) and isinstance(owner, ast.Name) and scope.find(owner.id) is CONTEXT


def on_event(call: ast.Call, scope: Scope) -> bool:
    """Whether a hook's event, or a tool's context, is asked through: `event.interrupt(name, …)`."""
    named = bool(call.args or call.keywords)  # `process.interrupt()` asks nobody
    asked = isinstance(call.func, ast.Attribute) and call.func.attr == "interrupt" and named
    return asked and isinstance(call.func, ast.Attribute) and scope.value(call.func.value) is UNKNOWN


def style_of(call: ast.Call, scope: Scope) -> str:
    """The way of asking of a call that asks."""
    if on_event(call, scope):
        return "hook"
    return "ask" if on_context(call, scope) else _STYLES[target_of(call, scope).__name__]


def name_of(call: ast.Call) -> str:
    """The last part of the called name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_pause(raised: ast.expr | None, scope: Scope) -> bool:
    """Whether a `raise` raises a question."""
    target = scope.value(raised.func if isinstance(raised, ast.Call) else raised)
    return isinstance(target, type) and issubclass(target, GraphInterrupt)


def by_chance(test: ast.expr, scope: Scope) -> bool:
    """Whether a condition may come out otherwise when the node runs again: clock, randomness, environment."""
    for one in ast.walk(test):
        if isinstance(one, (ast.Attribute, ast.Name)):
            found = scope.value(one)
            module = getattr(found, "__module__", None) or getattr(type(found), "__module__", "")
            name = one.attr if isinstance(one, ast.Attribute) else one.id
            owned = type(getattr(found, "__self__", None)).__module__ == "random"
            if (
                name in _CHANCE_NAMES
                or (callable(found) and not isinstance(found, type) and module in _CHANCE)
                or owned
            ):
                return True
    return False


def unordered(iterated: ast.expr, scope: Scope) -> bool:
    """Whether a loop runs over something in no order that another process would repeat."""
    if isinstance(iterated, (ast.Set, ast.SetComp)):
        return True
    if isinstance(iterated, ast.Name):
        return isinstance(scope.find(iterated.id), (set, frozenset))
    if not isinstance(iterated, ast.Call):
        return False
    target = target_of(iterated, scope)
    if any(target is one for one in (list, tuple, enumerate, reversed)) and iterated.args:
        return unordered(iterated.args[0], scope)
    return (
        target is set
        or target is frozenset
        or name_of(iterated) in ("as_completed", "listdir", "scandir", "iterdir", "glob")
    )


def own(target: Any, home: str) -> bool:
    """Whether a function is the author's own, to be read on, and not a library's."""
    module = getattr(target, "__module__", None) or ""
    if module == home:
        return True
    if module.partition(".")[0] != home.partition(".")[0] or module.startswith(("graphs.engine", "graphs.agents")):
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not file.startswith(_PLACES)


def _kind_of_known(call: ast.Call, target: Any, home: str, used: bool) -> str:
    if isinstance(target, type) or getattr(target, "__self__", None).__class__ in (list, dict, set, str, bytes):
        return EFFECT if getattr(target, "__module__", "") in _COMMANDS else NOTHING
    module = getattr(target, "__module__", None) or type(target).__module__
    if own(target, home) and isinstance(target, (FunctionType, MethodType)):
        return EFFECT if _acts(call) and not _asks(target) else OWN
    if module in _COMMANDS or module in ("posix", "nt"):
        return EFFECT if module == "subprocess" or not used else NOTHING
    if module in PURE or module.partition(".")[0] in PURE:
        return NOTHING
    if isinstance(getattr(target, "__self__", None), type):
        return EFFECT if _acts(call) else NOTHING
    if isinstance(target, BuiltinFunctionType) and not _acts(call):
        return NOTHING
    return EFFECT if _acts(call) or not used else NOTHING


def _kind_of_unknown(call: ast.Call, scope: Scope, used: bool) -> str:
    """A method of something that only a run knows: its name is all there is."""
    if isinstance(call.func, ast.Attribute):
        owner = scope.value(call.func.value)
        plain = isinstance(call.func.value, (ast.Constant, ast.JoinedStr, ast.List, ast.Dict))
        if plain or isinstance(owner, (str, list, dict, set)):
            return NOTHING
        if name_of(call) in _OF_THINGS_TOO and not used and not _outside(call.func.value):
            return NOTHING
    return EFFECT if _acts(call) else NOTHING


def _acts(call: ast.Call) -> bool:
    name = name_of(call)
    words = re.findall(r"[a-z]+|[A-Z][a-z]*", name.lstrip("_"))
    if name == "urlopen":
        return len(call.args) > 1 or any(one.arg == "data" for one in call.keywords) or _made(call)
    return (name in _NAMES or (bool(words) and words[0].lower() in VERBS)) and not _only_reads(call)


def _made(call: ast.Call) -> bool:
    """Whether what is opened is a request with a body or a method of its own, made on the spot."""
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Call) and (
        len(first.args) > 1 or any(one.arg in ("data", "method") for one in first.keywords)
    )


def _only_reads(call: ast.Call) -> bool:
    """Whether the first argument says that this request or statement only reads."""
    given = next((one.value for one in call.keywords if one.arg == "method"), call.args[0] if call.args else None)
    text = given.value if isinstance(given, ast.Constant) else None
    if not isinstance(text, str):
        return False
    name = name_of(call)
    return (
        text.upper() in ("GET", "HEAD", "OPTIONS")
        if name == "request"
        else bool(name.startswith("execute") and _READS.match(text))
    )


def _outside(owner: ast.expr) -> bool:
    """Whether a thing is named as something outside this process: `db`, `self.client`, `session()`."""
    inner = owner.func if isinstance(owner, ast.Call) else owner
    name = inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
    return any(word in _OUTSIDE for word in re.findall(r"[a-z]+", name.lower()))


def _asks(target: Any) -> bool:
    return not _ASKS.isdisjoint(getattr(getattr(target, "__code__", None), "co_names", ()))
