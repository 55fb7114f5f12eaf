"""The graphs that ship, one file each, and the registry that finds these and the user's own.

Modules of your own take the same names from `graphs`; inside the package nobody imports from its face.
"""
