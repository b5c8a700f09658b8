"""What the evidence says of a server: a verdict for each rule, its choices, and what an operator has waived."""
