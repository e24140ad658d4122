"""What passes over the data, whatever the question: opening, counting, drawing, gathering and regrouping rows."""
