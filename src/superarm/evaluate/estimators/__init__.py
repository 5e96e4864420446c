"""Estimators: what a log tells about a policy that did not write it."""
