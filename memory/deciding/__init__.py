"""What of a message is kept as a fact, what that ends, and what is forgotten, changed and looked after."""
