from ...runtime.nn.utils.member_accessor import *
