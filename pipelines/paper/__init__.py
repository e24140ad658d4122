"""The experiments of Laforgue, Clémençon & Bertail (2019); ``pipelines.reproduce_paper`` runs them."""
