"""Defects: servers that break one rule in one named way."""

from mock_server.defects.table import DEFECTS, Defect, defects_named, needs

__all__ = ["DEFECTS", "Defect", "defects_named", "needs"]
