"""What a file is: by its first bytes where those tell, else text or unknown. Its name is never believed."""

from __future__ import annotations

from collections.abc import Mapping

#: How files of these types begin, whatever they are called.
BEGIN: Mapping[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "application/pdf": (b"%PDF-",),
    "application/zip": (b"PK\x03\x04", b"PK\x05\x06"),
}
#: Types that a browser shows as a picture and never runs; SVG can hold scripts and is none of them.
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif"})
TEXT = "text/plain"
UNKNOWN = "application/octet-stream"


def type_of(content: bytes) -> str:
    """The media type of a file: one of `BEGIN`, text in UTF-8, or unknown."""
    for kind, beginnings in BEGIN.items():
        if content.startswith(beginnings):
            return kind
    if b"\x00" in content:
        return UNKNOWN
    try:
        content.decode()
    except UnicodeDecodeError:
        return UNKNOWN
    return TEXT


def size_text(size: int) -> str:
    """Bytes in words."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024 / 1024:.1f} MB" if size >= 1024 * 1024 else f"{round(size / 1024)} KB"
