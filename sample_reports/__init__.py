"""Sample reports: computed from the tables in this folder, not captured on a GPU."""
