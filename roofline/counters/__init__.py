"""What ncu's counters mean: recipes, units, opcodes, peaks; the tables behind ``measure``."""
