"""What bounds truerank's speed: reading memory, reading files, multiply-adds."""
