"""`nn.common_types`: annotations for arguments given as one number or one per dimension."""

# Made by `make stubs` from the live package; not edited by hand.
