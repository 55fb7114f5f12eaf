"""Every write, one file a noun: permission, then one transaction with a conditional UPDATE, an audit row and outbox rows."""
