"""Keys: values of any type as codes, texts and hashed bits that are equal where the values are."""
