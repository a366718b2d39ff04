"""Driving ncu: what to ask for, how to run it, and what went wrong when it did."""
