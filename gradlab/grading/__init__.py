"""The autograder: submissions are probed in a sandbox and judged outside it."""
