"""Sayso's public face for graph authors. Names load on first use (PEP 562), so importing `graphs` loads no Django."""
