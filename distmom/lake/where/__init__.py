"""The small safe language of conditions: text to tokens to nodes, checked against types, then evaluated."""
