"""The script that `athena serve` runs, alone in its folder."""
