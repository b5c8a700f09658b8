"""The survey: a fixed, small visit that yields evidence for every rule."""

from contract_tests.survey.visit import visit
from contract_tests.survey.visitor import Visitor

__all__ = ["Visitor", "visit"]
