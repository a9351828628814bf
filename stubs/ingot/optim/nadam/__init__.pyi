"""Adam, AdamW, NAdam, RAdam and Adamax."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.optim import Adam as Adam
from ingot.optim import AdamW as AdamW
from ingot.optim import Adamax as Adamax
from ingot.optim import NAdam as NAdam
from ingot.optim import RAdam as RAdam
from ingot.optim.adam import averages as averages
from ingot.optim.adam import weights_of as weights_of
