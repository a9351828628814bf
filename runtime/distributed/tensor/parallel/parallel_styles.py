"""Parallel styles: sharding of a module's parameters, inputs and outputs."""

from abc import ABC, abstractmethod
from typing import Any

from .....ir.errors import ArgumentError, DTypeError
from ....core.tensor import Tensor
from ....nn.layers.embedding import Embedding
from ....nn.layers.linear import Linear
from ..dtensor import DTensor
from ..dtensor_factories import as_parameter, distribute_module
from ..placements import Placement, Replicate, Shard

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel"]


def in_layout(x, mesh, layout, wanted) -> Any:
    """Return a tensor in the wanted layout; a plain one is a local part in the layout `given`."""
    if not isinstance(x, DTensor):
        if not isinstance(x, Tensor):
            raise DTypeError(f"only tensors can be sharded, got {type(x).__name__}")
        x = DTensor.from_local(x, mesh, layout)
    return x if wanted is None else x.redistribute(placements=wanted)


def as_output(x, wanted, local) -> Any:
    """Return a result in the wanted layout, or this process's part of it."""
    if not isinstance(x, DTensor):
        return x
    x = x.redistribute(placements=wanted)
    return x.to_local() if local else x


class ParallelStyle(ABC):
    """Style of sharding a module over a mesh."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module, device_mesh):
        """Shard a module."""

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in vars(self).items() if k != 'src_data_rank')})"

    def _put(self, module, mesh, layouts: dict):
        """Shard the parameters of a module by name; None gives the layout of the others."""
        for name, p in list(module._parameters.items()):
            if p is not None:
                module.register_parameter(name, as_parameter(p, mesh, [layouts.get(name, layouts[None])], self.src_data_rank))


class _OfLayers(ParallelStyle):
    """Style of linear layers and embeddings: `_PLACES` has the layouts of parameters and of inputs."""

    _LAYOUTS: dict = {}
    _input_layout: Placement
    _output_layout: Placement

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        self.input_layouts = (input_layouts or self._input_layout,)
        self.output_layouts = (output_layouts or self._output_layout,)
        self.use_local_output = use_local_output

    def _apply(self, module, device_mesh):
        entry = next((layouts for kind, layouts in self._LAYOUTS.items() if isinstance(module, kind)), None)
        if entry is None:
            raise NotImplementedError(f"{type(self).__name__} shards Linear and Embedding, got {type(module).__name__}; "
                                      f"distribute_module takes a partition_fn for other modules")
        layouts, wanted = entry
        return distribute_module(
            module, device_mesh, lambda name, part, mesh: self._put(part, mesh, layouts),
            lambda m, inputs, mesh: (in_layout(inputs[0], mesh, self.input_layouts, (wanted,)), *inputs[1:]),
            lambda m, outputs, mesh: as_output(outputs, self.output_layouts, self.use_local_output))


class ColwiseParallel(_OfLayers):
    """Style in which each process computes some outputs of a linear layer, or columns of an embedding."""

    _input_layout, _output_layout = Replicate(), Shard(-1)
    _LAYOUTS = {Linear: ({None: Shard(0)}, Replicate()), Embedding: ({None: Shard(1)}, Replicate())}


class RowwiseParallel(_OfLayers):
    """Style in which each process takes some inputs of a linear layer, or rows of an embedding; results are summed."""

    _input_layout, _output_layout = Shard(-1), Replicate()
    _LAYOUTS = {Linear: ({None: Shard(1), "bias": Replicate()}, Shard(-1)), Embedding: ({None: Shard(0)}, Replicate())}


class SequenceParallel(ParallelStyle):
    """Style in which each process has a part of the sequence, and parameters are whole. It is for norms, dropout, and other
    modules that treat positions independently."""

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module, device_mesh):
        layout = self.sequence_sharding
        return distribute_module(
            module, device_mesh, lambda name, part, mesh: self._put(part, mesh, {None: Replicate()}),
            lambda m, inputs, mesh: (in_layout(inputs[0], mesh, layout, layout), *inputs[1:]),
            lambda m, outputs, mesh: outputs.to_local() if self.use_local_output else outputs)


def _several(layouts) -> Any:
    return (layouts,) if isinstance(layouts, Placement) else layouts


def _check_alike(what, some, others):
    if (some is None) != (others is None) or (some is not None and len(some) != len(others)):
        raise ArgumentError(f"{what}: {some} and desired {others} say different numbers of layouts")


class PrepareModuleInput(ParallelStyle):
    """Style that converts a module's inputs to the wanted layouts; None leaves an argument unchanged."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None,
                 desired_input_kwarg_layouts=None, use_local_output=False):
        self.input_layouts, self.desired_input_layouts = _several(input_layouts), _several(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        _check_alike("PrepareModuleInput", self.input_layouts, self.desired_input_layouts)
        if self.input_kwarg_layouts.keys() != self.desired_input_kwarg_layouts.keys():
            raise ArgumentError(f"PrepareModuleInput: input_kwarg_layouts {self.input_kwarg_layouts} and desired "
                                f"{self.desired_input_kwarg_layouts} name different arguments")

    def _prepared(self, x, mesh, layout, wanted):
        if layout is None:
            return x
        x = in_layout(x, mesh, (layout,), None if wanted is None else (wanted,))
        return x.to_local() if self.use_local_output else x

    def _all_prepared(self, args, kwargs, mesh):
        if self.input_layouts is not None:
            if len(args) != len(self.input_layouts):
                raise ArgumentError(f"PrepareModuleInput: the module got {len(args)} arguments, and input_layouts has "
                                    f"{len(self.input_layouts)}")
            how = zip(args, self.input_layouts, self.desired_input_layouts)
            args = tuple([self._prepared(x, mesh, layout, wanted) for x, layout, wanted in how])
        named = {k: self._prepared(x, mesh, self.input_kwarg_layouts.get(k), self.desired_input_kwarg_layouts.get(k))
                 for k, x in kwargs.items()}
        return args, named

    def _apply(self, module, device_mesh):
        module.register_forward_pre_hook(lambda m, args, kwargs: self._all_prepared(args, kwargs, device_mesh),
                                         with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Style that converts a module's outputs to the wanted layouts, or to local parts; None leaves a result unchanged."""

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        self.output_layouts, self.desired_output_layouts = _several(output_layouts), _several(desired_output_layouts)
        self.use_local_output = use_local_output
        _check_alike("PrepareModuleOutput", self.output_layouts, self.desired_output_layouts)

    def _prepared(self, outputs, mesh):
        outs = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(outs) != len(self.output_layouts):
            raise ArgumentError(f"PrepareModuleOutput: the module gave {len(outs)} results, and output_layouts has "
                                f"{len(self.output_layouts)}")
        results = []
        for x, layout, wanted in zip(outs, self.output_layouts, self.desired_output_layouts):
            if layout is not None:
                x = in_layout(x, mesh, (layout,), (wanted,))
                x = x.to_local() if self.use_local_output else x
            results.append(x)
        return results[0] if len(results) == 1 else tuple(results)

    def _apply(self, module, device_mesh):
        module.register_forward_hook(lambda m, inputs, outputs: self._prepared(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Style that converts a module's inputs and outputs."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None,
                 desired_input_kwarg_layouts=None, use_local_input=False, output_layouts, desired_output_layouts,
                 use_local_output=True):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts, use_local_output=use_local_output)

    def _apply(self, module, device_mesh):
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
