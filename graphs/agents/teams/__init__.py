"""Teams of agents: a swarm whose members hand over to each other, and a graph whose edges say who comes next."""

from __future__ import annotations
