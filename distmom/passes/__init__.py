"""What passes over the data, whatever is asked: opening, counting, drawing, gathering, regrouping rows."""
