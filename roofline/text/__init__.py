"""What people read is built from these: numbers, names, lines of a terminal."""
