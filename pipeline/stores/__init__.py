"""Where sections and sentences are kept: two protocols, and the backends that fulfil them."""
