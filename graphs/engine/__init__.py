"""The kernel: plain Python that plans supersteps, replays journals and matches answers; it knows no Django."""
