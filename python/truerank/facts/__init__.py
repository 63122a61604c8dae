"""What protocols are told: rows of triples or pairs, read into ids, audited, and asked about."""
