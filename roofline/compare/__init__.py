"""Before and after: pair launches, check that they compare, judge the change and its cause."""
