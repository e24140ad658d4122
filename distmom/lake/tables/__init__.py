"""Tables whose log says which files count: Delta and Iceberg, recognised by name and opened as lakes."""
