"""The demonstration: a spacecraft with a fault aboard."""
