"""The survey: a fixed, small visit that yields evidence for every rule."""

from contract_tests.survey.visit import visit

__all__ = ["visit"]
