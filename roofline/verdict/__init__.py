"""The named-limiter rule and its words: from a measurement to a verdict. Pure."""
