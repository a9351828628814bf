"""What a program is: dtypes, operators, graphs. Pure data on numpy."""
