"""What CI runs beside the tests, and what a developer runs by hand; `CONTRIBUTING.md` lists it."""
