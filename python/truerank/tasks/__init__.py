"""What protocols share: the Task, its sides, candidates and parts, and how it is evaluated."""
