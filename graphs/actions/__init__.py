"""Every write, one file a noun: permission, then one transaction with its audit and outbox rows."""
