"""ONNX models cost their readers, and the first run, time and memory in proportion to their size."""

import contextlib
import random
import time
import tracemalloc

import numpy as np
import pytest

pytest.importorskip("onnx")

import hostile_onnx
import ingot
import mutated_onnx
import reader_seeds
from ingot import jit
from ingot.ir import config
from ingot.ir.errors import FileError, IngotError

LIMIT = 16           # MiB that small files may take in these tests


@pytest.mark.drawn
@pytest.mark.parametrize("name", hostile_onnx.FILES)
def test_small_models_that_stand_for_much(name):
    data = hostile_onnx.FILES[name]()
    tracemalloc.start()
    began = time.process_time()
    with config.override(read_limit=LIMIT), pytest.raises(IngotError) as found:
        jit.from_onnx(data)(ingot.ones(2))
    seconds, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(str(found.value)) < 600 + len(data)
    assert seconds < 5 and peak < (4 * LIMIT << 20) + 300 * len(data), (seconds, peak, len(data))


@pytest.mark.drawn
@pytest.mark.parametrize("number", range(len(mutated_onnx.models())))
def test_wrong_integers(number, request):
    """Integers of small models, too small or too large; `test_all_wrong_integers` changes those of all node tests."""
    draw = random.Random(request.config.option.seed)
    made = [*mutated_onnx.wrong_integers(mutated_onnx.models()[number])]
    for place, data in made if request.config.option.whole_tables else draw.sample(made, min(3, len(made))):
        try:
            reader_seeds.run_onnx_with(data, [np.ones((2, 3), np.float32)])
        except Exception as e:
            raise AssertionError(f"{place}, --seed {request.config.option.seed}") from e


def texts_of(message) -> set:
    """Return the texts in a message and those inside of it, as bytes."""
    found: set = set()
    for field, value in message.ListFields():
        inside = value if field.is_repeated else [value]
        if field.message_type is not None:
            found.update(*map(texts_of, inside))
        elif field.cpp_type == field.CPPTYPE_STRING:
            found.update(text.encode() if isinstance(text, str) else text for text in inside)
    return found - {b""}


@pytest.mark.drawn
@pytest.mark.parametrize("number", range(len(mutated_onnx.models())))
def test_texts_that_are_no_utf8(number):
    data = mutated_onnx.models()[number]
    for text in texts_of(mutated_onnx.onnx.ModelProto.FromString(data)):
        word = bytes([len(text)])
        with contextlib.suppress(IngotError):
            repr(jit.from_onnx(data.replace(word + text, word + b"\xff" * len(text))))


def test_tensors_that_share_external_data_have_one_limit(tmp_path):
    """A data file of 1 MiB is as many MiB as tensors name it."""
    (tmp_path / "data").write_bytes(bytes(1 << 20))
    proto, helper = mutated_onnx.onnx, mutated_onnx.helper
    for count, fits in ((20, True), (40, False)):
        tensors = []
        for i in range(count):
            t = proto.TensorProto(name=f"w{i}", data_type=1, dims=[1 << 18], data_location=proto.TensorProto.EXTERNAL)
            t.external_data.add(key="location", value="data")
            tensors.append(t)
        node = helper.make_node("Sum", [t.name for t in tensors], ["y"])
        graph = helper.make_graph([node], "g", [], [hostile_onnx.value("y")], tensors)
        path = tmp_path / "m.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString())
        refused = contextlib.nullcontext() if fits else pytest.raises(FileError, match="in 'data'")
        with config.override(read_limit=LIMIT), refused:
            assert jit.from_onnx(path)().shape == (1 << 18,)


def chain(operators: int, read: bool) -> bytes:
    """Return a model whose operators give results of 4 MiB one after the other; `read`: all are read at the end."""
    nodes = [hostile_onnx.node("Tile", ["x", "s"], ["v0"]),
             *[hostile_onnx.node("Sin", [f"v{i}"], [f"v{i + 1}"]) for i in range(operators)]]
    last = [f"v{i}" for i in range(operators + 1)] if read else [f"v{operators}"]
    nodes += [hostile_onnx.node("ReduceSum", [name], [f"sum {name}"], keepdims=0) for name in last]
    nodes.append(hostile_onnx.node("Sum", [f"sum {name}" for name in last], ["y"]))
    return hostile_onnx.model(*nodes, s=hostile_onnx.whole(1 << 19))


@pytest.mark.parametrize("operators", [8, 40])
def test_results_have_one_limit_while_they_are_alive(operators):
    with config.override(read_limit=LIMIT):
        assert jit.from_onnx(chain(operators, read=False))(ingot.ones(2)).shape == ()
        tracemalloc.start()
        with pytest.raises(FileError, match=r"takes 4194304 bytes beside \d{8} bytes of others"):
            jit.from_onnx(chain(operators, read=True))(ingot.ones(2))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < (LIMIT + 8) << 20


def test_the_limit_is_a_setting():
    data = hostile_onnx.model(hostile_onnx.node("Pad", ["x", "p"], ["y"]), p=hostile_onnx.whole(1 << 19, 0))
    with pytest.raises(FileError, match=r"a result float32\[524290\] of pad takes .* INGOT_READ_LIMIT to more than 1 "), \
            config.override(read_limit=1):
        jit.from_onnx(data)(ingot.ones(2))
    with config.override(read_limit=3):
        assert jit.from_onnx(data)(ingot.ones(2)).shape == ((1 << 19) + 2,)


def test_arguments_widen_the_limit():
    data = hostile_onnx.model(hostile_onnx.node("Tile", ["x", "s"], ["y"]), s=hostile_onnx.whole(100))
    model = jit.from_onnx(data)
    with config.override(read_limit=0):
        assert np.all(model(ingot.ones(2)).numpy() == 1)
