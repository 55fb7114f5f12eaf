"""A schema becomes fields; what has no widget of its own becomes a JSON field with the schema beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from graphs.web.forms import several
from graphs.web.forms.choosing import choice, choices, option_label, option_value, options_of
from graphs.web.forms.fields import ABSENT, NESTS, Field
from graphs.web.forms.filling import fill
from graphs.web.forms.formats import HINTS, WIDGETS, for_browsers
from graphs.web.forms.resolving import Root, branches_of, is_null, only_required, resolve, without_null
from graphs.web.forms.showing import shown
from graphs.web.reading import humanise, number_text, visible

__all__ = ["build", "fill", "option_label", "option_value", "resolve", "shown"]

LONG_TEXT = 200
SCALARS = {"string", "number", "integer", "boolean"}
#: Words that only make sense of one kind of value, for schemas that leave the kind out.
TELLING: Mapping[str, str] = {
    "properties": "object",
    "patternProperties": "object",
    "prefixItems": "array",
    "items": "array",
    "contentEncoding": "string",
    "pattern": "string",
    "maxLength": "string",
    "minLength": "string",
    "format": "string",
    "minimum": "number",
    "maximum": "number",
    "multipleOf": "number",
}


def build(
    schema: Any, *, name: str = "f", skip: frozenset[str] = frozenset(), options: list[Any] | None = None
) -> Field:
    """The field tree of a schema. `skip` leaves out top-level properties that buttons decide (`approved`).

    `options` are the choices a question offers beside a schema that names none.
    """
    root = Root(schema if isinstance(schema, Mapping) else {}, skip=skip)
    field = build_field(root.schema, root, "", name, required=True, depth=0)
    if options and not field.options and field.widget in {"json", "text", "textarea", "number"}:
        return choice(field, [(option_label(item), option_value(item)) for item in options])
    return field


def build_field(
    schema: Any, root: Root, pointer: str, name: str, *, required: bool, depth: int, asked: bool = True
) -> Field:
    """The field of one place. `asked`: everything above it is required."""
    root.left -= 1
    resolved, nullable = without_null(resolve(schema, root.schema), root.schema)
    resolved = resolve(resolved, root.schema)
    key = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    field = Field(
        pointer=pointer,
        name=name,
        label=visible(str(resolved.get("title") or humanise(key) or _("Answer"))),
        widget="json",
        kind="JSON",
        schema=schema,
        required=required,
        nullable=nullable,
        help=visible(str(resolved.get("description") or "")),
        default=resolved.get("default", ABSENT),
        asked=asked,
        deprecated=resolved.get("deprecated") is True,
    )
    _shape(field, resolved, root, depth)
    if not field.children and field.widget not in NESTS:
        field.text = shown(field, field.default)
    elif field.default is not ABSENT:
        fill(field, field.default, whole=False)
    return field


def _shape(field: Field, schema: Mapping[str, Any], root: Root, depth: int) -> None:
    kind = _kind(schema)
    if "const" in schema or is_null(schema):
        field.widget, field.kind, field.default = "const", "fixed", schema.get("const")
    elif schema.get("readOnly") is True and (field.default is not ABSENT or not field.required):
        field.widget, field.kind = "const", "not for you to change"
    elif found := choices(schema):
        choice(field, found)
    elif len(branches := branches_of(schema, root.schema)) > 1:
        several.branches(field, branches, root, depth, build_field)
    elif branches:
        _shape(field, branches[0], root, depth)
    elif kind == "boolean":
        field.widget, field.kind = "yesno", "yes or no"
        field.options = options_of([(_("Yes"), True), (_("No"), False)])
    elif kind == "string":
        _string(field, schema)
    elif kind in ("integer", "number"):
        _number(field, schema, kind)
    elif kind == "object":
        several.group(field, schema, root, depth, build_field)
        _one_of_these(field, schema)
    elif kind == "array":
        _array(field, schema, root, depth)


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list) and len(kind) == 1:
        kind = kind[0]
    if isinstance(kind, str):
        return kind
    return next((told for word, told in TELLING.items() if word in schema), "") if kind is None else ""


def _one_of_these(field: Field, schema: Mapping[str, Any]) -> None:
    for word, told in (
        ("oneOf", _("Fill in exactly one of these: %(names)s.")),
        ("anyOf", _("Fill in one of these at least: %(names)s.")),
    ):
        branches = schema.get(word)
        if isinstance(branches, list) and branches and only_required(branches):
            needed = [_(" and ").join(humanise(str(key)) for key in one.get("required", [])) for one in branches]
            field.hint = told % {"names": ", ".join(one for one in needed if one)}


def _string(field: Field, schema: Mapping[str, Any]) -> None:
    field.kind = "text"
    form = str(schema.get("format"))
    widget = "secret" if schema.get("writeOnly") is True else WIDGETS.get(form, "text")
    if str(schema.get("contentEncoding")).lower() == "base64":
        _file(field, schema)
        return
    most = schema.get("maxLength")
    if widget == "text" and isinstance(most, int) and most > LONG_TEXT:
        widget = "textarea"
    field.widget, field.item = widget, form
    _attr(field, schema, minLength="minlength", maxLength="maxlength")
    if widget == "secret":
        # Nothing of it is ever shown, its default neither.
        field.default, field.attrs = ABSENT, {}
    field.hint = ", ".join(_string_hints(field, schema, form))
    if widget == "time":
        field.attrs = {"step": "1"}


def _string_hints(field: Field, schema: Mapping[str, Any], form: str) -> list[str]:
    parts, most, least = [], schema.get("maxLength"), schema.get("minLength")
    examples = schema.get("examples")
    if isinstance(examples, list) and examples and isinstance(examples[0], str) and field.widget != "secret":
        field.attrs["placeholder"] = _("e.g. %(example)s") % {"example": examples[0]}
    if isinstance(most, int):
        parts.append(_("at most %(most)s characters") % {"most": most})
    if isinstance(least, int) and least > 1:
        parts.append(_("at least %(number)s") % {"number": least})
    if isinstance(schema.get("pattern"), str):
        field.patterned = True
        if field.widget == "text" and (told := for_browsers(schema["pattern"])):
            field.attrs |= {
                "pattern": told,
                "title": field.help or _("pattern %(pattern)s") % {"pattern": schema["pattern"]},
            }
        # Words of the author's own say it to people; without any the pattern does.
        if not field.help and "placeholder" not in field.attrs:
            parts.append(_("pattern %(pattern)s") % {"pattern": schema["pattern"]})
    return [*parts, str(HINTS[form])] if form in HINTS else parts


def _file(field: Field, schema: Mapping[str, Any]) -> None:
    field.widget, field.kind, field.item = "file", "file", str(schema.get("contentMediaType") or "")
    field.hint = _("at most 2 MB, of the type %(type)s") % {"type": field.item} if field.item else _("at most 2 MB")
    if field.item:
        field.attrs["accept"] = field.item


def _number(field: Field, schema: Mapping[str, Any], kind: str) -> None:
    field.widget, field.kind = "number", "whole number" if kind == "integer" else "number"
    _attr(field, schema, minimum="min", maximum="max")
    step = schema.get("multipleOf")
    free = "1" if kind == "integer" else "any"
    field.attrs["step"] = str(step) if isinstance(step, int | float) and step > 0 else free
    if "min" in field.attrs and field.attrs["step"] not in ("1", "any"):
        # Browsers count steps from the minimum, JSON Schema from zero; the server decides.
        field.attrs["step"] = "any"
    examples = schema.get("examples")
    if isinstance(examples, list) and examples and type(examples[0]) in (int, float):
        field.attrs["placeholder"] = _("e.g. %(example)s") % {"example": number_text(examples[0])}
    bounds = [
        word % {"number": number_text(schema[key])}
        for key, word in (
            ("minimum", _("at least %(number)s")),
            ("exclusiveMinimum", _("more than %(number)s")),
            ("maximum", _("at most %(number)s")),
            ("exclusiveMaximum", _("less than %(number)s")),
            ("multipleOf", _("in steps of %(number)s")),
        )
        if isinstance(schema.get(key), int | float) and not isinstance(schema.get(key), bool)
    ]
    field.hint = ", ".join(bounds)


def _attr(field: Field, schema: Mapping[str, Any], **names: str) -> None:
    for keyword, attribute in names.items():
        value = schema.get(keyword)
        if isinstance(value, int | float) and not isinstance(value, bool):
            field.attrs[attribute] = str(value)


def _array(field: Field, schema: Mapping[str, Any], root: Root, depth: int) -> None:
    items = resolve(schema.get("items"), root.schema)
    if "prefixItems" in schema:
        several.tuple_(field, schema, root, depth, build_field)
    elif found := choices(items):
        field.widget, field.kind, field.options = "checks", "choices", options_of(found)
        # Nothing can be ticked twice.
        field.hint = several.counted({**schema, "uniqueItems": False})
    elif _plain(items):
        field.widget, field.kind, field.item = "lines", "one a line", str(items["type"])
        each = {"string": _("one entry a line"), "boolean": _("true or false, one a line")}
        field.hint = ", ".join(filter(None, (each.get(field.item, _("one number a line")), several.counted(schema))))
    else:
        several.rows(field, schema, root, depth, build_field)


def _plain(items: Mapping[str, Any]) -> bool:
    """Whether a line of text holds an item: no input of another kind would be better for it."""
    kind = items.get("type")
    if not isinstance(kind, str) or kind not in SCALARS or {"const", "writeOnly", "contentEncoding"} & set(items):
        return False
    form, most = str(items.get("format")), items.get("maxLength")
    return WIDGETS.get(form, "text") == "text" and not (isinstance(most, int) and most > LONG_TEXT)
