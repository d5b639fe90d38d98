"""A bank of all-reduces, right and wrong, with the judgement that each must get."""
