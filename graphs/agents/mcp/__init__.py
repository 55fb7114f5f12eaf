"""Tools of MCP servers: the servers of an agent's `tools`, one session a call, their questions as interrupts."""
