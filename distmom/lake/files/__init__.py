"""Files: from names to a sorted listing, in folders and object stores; footers; what errors say of them."""
