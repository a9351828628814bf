from ..runtime.cuda.driver.streams import *
