"""Reports: a few general parts, filled by each kind of result, rendered as HTML or with Matplotlib."""
