"""Tables of results, and the forms in which they are printed and saved."""
