"""The five papers, rerun: what runs an experiment, the experiments by id, tuning, and the demo.

from superarm.reproduce.runner import run
summary = run("wen2015/longest-path", scale="quick", out="results")
"""
