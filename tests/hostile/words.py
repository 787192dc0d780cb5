"""Honest words for the pages of the table."""

PROSE = (
    "Kettles have boiled water in kitchens since the first of them was cast in bronze. The oldest that survive come "
    "from river valleys, where clay was at hand and fuel was not. A lid keeps the heat, and a spout pours without "
    "spilling. Later ones were made of iron, copper and steel, and whistle when they are done. "
)
LONG = PROSE * 6
