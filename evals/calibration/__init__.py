"""How the constants were chosen: programs that fit or measure them on given data."""
