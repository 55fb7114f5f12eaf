"""What workers call, by dotted name (graphs/queue.py): load, run the engine, hand over. No writes of their own."""
