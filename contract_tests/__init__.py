"""A conformance suite for implementations of the link-management service API."""
