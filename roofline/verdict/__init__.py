"""The named-limiter rule: from a measurement to a verdict, in codes and numbers. Pure."""
