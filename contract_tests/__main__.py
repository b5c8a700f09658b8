"""Runs the command `contract-tests` as `python -m contract_tests`."""

import sys

from contract_tests.cli import main

sys.exit(main())
