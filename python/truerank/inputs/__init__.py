"""What users hand over: arrays, tensors, selections; the checks and the errors."""
