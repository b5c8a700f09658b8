"""The survey: a fixed, small visit that yields evidence for every rule."""
