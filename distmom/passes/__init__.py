"""Passes over the data, for every statistic: opening, counting, drawing, gathering and regrouping rows."""
