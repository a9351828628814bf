"""`ingot.signal`: short-time Fourier transforms and windows for spectra and filters."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.signal import windows as windows
