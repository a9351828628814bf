"""Convolutions as gathered matrix products, depthwise and packed forms, and pools."""
