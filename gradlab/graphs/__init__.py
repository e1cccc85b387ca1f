"""Graphs as plain data: the records, and the readers that fill them from gradlab's and torch's tensors."""
