"""Shows that the suite catches every defect and fails no correct server."""
