"""Exploration: requests that nobody wrote down, judged by the same rules as the survey's."""

from contract_tests.explore.exploration import Exploration

__all__ = ["Exploration"]
