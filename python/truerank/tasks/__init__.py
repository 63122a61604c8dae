"""The shape of a task; ids of entities and relations; audits of splits."""
