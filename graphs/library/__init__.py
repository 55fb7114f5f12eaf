"""The graphs that ship, one file each, and the registry that finds these and the user's own."""
