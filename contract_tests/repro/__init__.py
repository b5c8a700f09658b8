"""What makes a script of a finding: the requests that lead to it, fewer of them, and the verdict on what they got."""
