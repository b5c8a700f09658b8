"""Defects: each breaks one rule of the contract in one named way, between the network and the honest server."""

from mock_server.faults.defects.defect import Defect
from mock_server.faults.defects.table import DEFECTS, defects_named, needs

__all__ = ["DEFECTS", "Defect", "defects_named", "needs"]
