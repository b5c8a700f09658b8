"""Exploration: further requests, most of them generated, judged by the same rules as the survey's."""

from contract_tests.explore.exploration import Exploration

__all__ = ["Exploration"]
