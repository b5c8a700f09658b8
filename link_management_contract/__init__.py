"""The contract, `openapi.yaml`, as the mock and the suite read it: resources, form fields, rules, open points.

Data, no behaviour. Both programs import it; it imports neither.
"""

from link_management_contract.model import (
    OPERATIONS,
    Contract,
    Field,
    OpenPoint,
    Resource,
    Rule,
    load_yaml,
    operation_of,
    shipped,
    shipped_contract,
)

__all__ = [
    "OPERATIONS",
    "Contract",
    "Field",
    "OpenPoint",
    "Resource",
    "Rule",
    "load_yaml",
    "operation_of",
    "shipped",
    "shipped_contract",
]
