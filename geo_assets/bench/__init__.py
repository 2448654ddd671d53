"""Measurements of the product against straightforward code, one module per subject."""
