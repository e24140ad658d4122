"""Passes over the data that know no statistic: opening, counting rows, gathering and regrouping them."""
