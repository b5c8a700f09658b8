"""Exploration: further requests, most of them generated, judged by the same rules as the survey's."""
