"""Reports: a few general parts, filled by each kind of result, as HTML; or their pictures as SVG."""
