"""What a queue asks of decisions and their time, as pure functions of a document: no table, no clock, no Django."""
