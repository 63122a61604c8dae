"""The units of a sample, metrics of samples drawn again from them, and notes on what they tell."""
