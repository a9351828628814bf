"""`ingot.utils.tensorboard`: the files are read back here byte by byte, as TensorBoard would."""

import json
import multiprocessing
import struct
import threading
import wave
import zlib
from io import BytesIO

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.ir.errors import ArgumentError, DTypeError, ShapeError
from ingot.jit.tensorboard.event_file import crc32c
from ingot.utils.tensorboard import FileWriter, SummaryWriter
from ingot.utils.tensorboard.summary import hparams


def fields(data: bytes) -> dict:
    """{number: values} of a message."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = data[at:at + size], at + size
            assert len(value) == size
        found.setdefault(key >> 3, []).append(value)
    return found


def slow_crc(data: bytes) -> int:
    """CRC-32C, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = slow_crc(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def events(path) -> list:
    """The messages of a file, whose checksums hold."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        size, crc = struct.unpack_from("<QI", data, at)
        body = data[at + 12:at + 12 + size]
        assert crc == masked(data[at:at + 8]) and struct.unpack_from("<I", data, at + 12 + size)[0] == masked(body)
        found.append(fields(body))
        at += size + 16
    return found


def files(folder) -> list:
    return sorted(folder.rglob("events.out.tfevents.*"))


def values(folder) -> list:
    """(step, tag, fields of the value) of everything logged in a folder."""
    found = []
    for path in files(folder):
        first, *rest = events(path)
        assert first[3] == [b"brain.Event:2"]
        for event in rest:
            for summary in event.get(5, []):
                for value in map(fields, fields(summary)[1]):
                    found.append((event.get(2, [None])[0], value[1][0].decode(), value))
    return found


def double(data):
    return struct.unpack("<d", data)[0]


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as made:
        yield made


@pytest.mark.parametrize("size", [0, 1, 9, 255, 4095, 4096, 4097, 70001])
def test_checksums(size):
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == slow_crc(data)
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("value", [2, 0.5, np.float32(0.25), np.array(3.0), 1e300, ingot.tensor(1.5), ingot.tensor([[2]]),
                                   ingot.tensor(0.5, dtype=ingot.bfloat16), float("nan"), float("inf"), True])
@pytest.mark.filterwarnings("ignore:overflow")
def test_scalars(writer, tmp_path, value):
    writer.add_scalar("loss/train", value, 7, walltime=12.5)
    writer.add_scalar("new", value, new_style=True)
    writer.flush()
    (step, tag, found), (no_step, _, new) = values(tmp_path)
    assert (step, tag, no_step) == (7, "loss/train", None)
    wanted = np.float32(float(value))
    np.testing.assert_equal(struct.unpack("<f", found[2][0])[0], wanted)
    tensor = fields(new[8][0])
    assert tensor[1] == [1] and fields(fields(new[9][0])[1][0])[1] == [b"scalars"]
    np.testing.assert_equal(struct.unpack("<f", tensor[5][0])[0], wanted)
    assert double(events(files(tmp_path)[0])[1][1][0]) == 12.5


def test_several_scalars_are_runs_below(writer, tmp_path):
    writer.add_scalars("a/b", {"x": 1, "y": ingot.tensor(2.0)}, 3)
    writer.close()
    for name, value in (("a_b_x", 1), ("a_b_y", 2)):
        (step, tag, found), = values(tmp_path / name)
        assert (step, tag, struct.unpack("<f", found[2][0])[0]) == (3, "a/b", value)


@pytest.mark.parametrize("bins", ["tensorflow", "auto", 7, [-2.0, 0.0, 2.0, 9.0]])
@pytest.mark.parametrize("data", [ingot.randn(300), np.arange(-3, 4), [0.0, 0.0],
                                  ingot.ones(2, 2, dtype=ingot.float16) * -1.5])
def test_histograms_count_every_value(writer, tmp_path, bins, data):
    writer.add_histogram("h", data, 1, bins=bins)
    writer.flush()
    (_, _, found), = values(tmp_path)
    read, numbers = fields(found[5][0]), np.asarray(data, np.float64).reshape(-1)
    low, high, count, total, squares = (double(read[i][0]) for i in range(1, 6))
    assert (low, high, count) == (numbers.min(), numbers.max(), numbers.size)
    np.testing.assert_allclose((total, squares), (numbers.sum(), (numbers ** 2).sum()))
    limits, counts = (np.frombuffer(read[i][0], np.float64) for i in (6, 7))
    assert len(limits) == len(counts) and (np.diff(limits) > 0).all()
    inside = numbers if isinstance(bins, (str, int)) else numbers[(numbers >= bins[0]) & (numbers <= bins[-1])]
    assert counts.sum() == inside.size
    last = len(limits) - 1              # a bucket takes what is below its limit, the last one what equals it, too
    for i, (end, n) in enumerate(zip(limits, counts)):
        start = limits[i - 1] if i else -np.inf
        assert n == np.count_nonzero((inside >= start) & ((inside < end) | ((i == last) & (inside == end))))


def decoded(data: bytes) -> np.ndarray:
    """The picture of a PNG file whose lines have no filter."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(name + body)
        parts[name], at = body, at + size + 12
    width, height, depth, colours = struct.unpack_from(">IIBB", parts[b"IHDR"])
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, -1)
    assert depth == 8 and not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, {0: 1, 2: 3, 4: 2, 6: 4}[colours])


@pytest.mark.parametrize("order", ["CHW", "HWC", "HW", "NCHW", "NHWC", "WHC"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "bfloat16"])
def test_pictures(writer, tmp_path, order, dtype):
    sizes = {"N": 10, "C": 3, "H": 4, "W": 6}
    shape = [sizes[dim] for dim in order]
    x = ingot.randint(0, 256, shape, dtype=ingot.uint8)
    given = x if dtype == "uint8" else (x.double() / 255).to(getattr(ingot, dtype))
    (writer.add_images if "N" in order else writer.add_image)("p", given, 2, dataformats=order)
    writer.flush()
    (_, _, found), = values(tmp_path)
    read = fields(found[4][0])
    picture = decoded(read[4][0])
    assert (read[1][0], read[2][0], read[3][0]) == picture.shape
    wanted = x.numpy().transpose([order.index(dim) for dim in "NHWC" if dim in order])
    if "N" in order:
        assert picture.shape == (8, 48, 3) and not picture[4:, 12:].any()
        picture = np.stack([picture[i // 8 * 4:i // 8 * 4 + 4, i % 8 * 6:i % 8 * 6 + 6] for i in range(10)])
    error = {"uint8": 0, "float32": 1, "bfloat16": 2}[dtype]
    assert np.abs(picture.astype(int) - wanted.reshape(picture.shape)).max() <= error


def test_sounds(writer, tmp_path):
    x = ingot.sin(ingot.arange(400.0) / 5)
    writer.add_audio("s", ingot.stack([x, x * 2]), 1, sample_rate=8000)
    writer.flush()
    (_, _, found), = values(tmp_path)
    read = fields(found[6][0])
    assert (read[2], read[3], read[5]) == ([2], [400], [b"audio/wav"])
    with wave.open(BytesIO(read[4][0])) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (8000, 2, 400)
        samples = np.frombuffer(sound.readframes(400), np.int16).reshape(400, 2) / 32767
    assert np.abs(samples[:, 0] - x.numpy()).max() < 1e-4 and np.abs(samples[:, 1]).max() == 1


def test_text(writer, tmp_path):
    writer.add_text("note", "**größer**", 1)
    writer.flush()
    (_, tag, found), = values(tmp_path)
    assert tag == "note/text_summary" and fields(found[8][0])[8] == ["**größer**".encode()]


def test_precision_and_recall(writer, tmp_path):
    labels, predictions = ingot.tensor([0, 1, 1, 0, 1]), ingot.tensor([0.1, 0.9, 0.4, 0.6, 0.8])
    writer.add_pr_curve("p", labels, predictions, 1, num_thresholds=5)
    writer.flush()
    (_, _, found), = values(tmp_path)
    tensor = fields(found[8][0])
    table = np.frombuffer(tensor[5][0], np.float32).reshape(6, 5)
    at_least_half = table[:, 2]
    assert at_least_half.tolist() == [2, 1, 1, 1, pytest.approx(2 / 3), pytest.approx(2 / 3)]
    assert table[:4].sum(0).tolist() == [5] * 5


def test_hyperparameters(writer, tmp_path):
    writer.add_hparams({"lr": 0.1, "opt": "adam", "flag": True, "n": ingot.tensor(3)}, {"accuracy": 0.9},
                       {"opt": ["adam", "sgd"]}, run_name="run")
    writer.close()
    found = {tag: value for _, tag, value in values(tmp_path / "run")}
    assert list(found) == ["_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info", "accuracy"]
    start = fields(fields(fields(fields(found["_hparams_/session_start_info"][9][0])[1][0])[2][0])[3][0])
    stored = {fields(pair)[1][0].decode(): fields(fields(pair)[2][0]) for pair in start[1]}
    assert stored["opt"][3] == [b"adam"] and stored["flag"][4] == [1]
    assert {name: double(stored[name][2][0]) for name in ("lr", "n")} == {"lr": 0.1, "n": 3}


def test_hyperparameters_written_as_three_summaries_by_hand(writer, tmp_path):
    file = writer._get_file_writer()
    for part in hparams({"lr": 0.1, "n": ingot.tensor(3)}, {"accuracy": 0.9}):
        file.add_summary(part)
    writer.close()
    assert [tag for _, tag, _ in values(tmp_path)] == [f"_hparams_/{part}" for part in (
        "experiment", "session_start_info", "session_end_info")]


def test_embeddings(writer, tmp_path):
    rows = ingot.arange(6.0).reshape(3, 2)
    writer.add_embedding(rows, ["a", "b\tc", "d\ne"], ingot.rand(3, 3, 4, 5), global_step=2, tag="x/y")
    where = tmp_path / "00002" / "x%2fy"
    table = (where / "tensors.tsv").read_text().splitlines()
    assert [list(map(float, line.split("\t"))) for line in table] == rows.tolist()
    assert (where / "metadata.tsv").read_text().splitlines() == ["a", "b c", "d\\ne"]
    assert decoded((where / "sprite.png").read_bytes()).shape == (8, 10, 3)
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert all(json.dumps(f"00002/x%2fy/{name}") in config for name in ("tensors.tsv", "metadata.tsv", "sprite.png"))


def test_graphs(writer, tmp_path, capsys):
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.ReLU())
    writer.add_graph(net, ingot.randn(3, 4), verbose=True)
    writer.flush()
    assert net.training and net[1].training and "relu" in capsys.readouterr().out
    graph, = [event[4][0] for path in files(tmp_path) for event in events(path) if 4 in event]
    nodes = {n[1][0].decode(): n for n in map(fields, fields(graph)[1])}
    assert {"input/0", "0/weight", "1/running_mean", "output/0"} < set(nodes)
    assert all(name.decode().split(":")[0] in nodes for n in nodes.values() for name in n.get(3, []))


def test_layouts(writer, tmp_path):
    writer.add_custom_scalars({"c": {"t": ["Multiline", ["a", "b"]], "m": ["Margin", ["v", "l", "u"]]}})
    writer.flush()
    (_, tag, found), = values(tmp_path)
    charts = fields(fields(fields(fields(found[8][0])[8][0])[2][0])[2][0])
    assert tag == "custom_scalars__config__" and fields(charts[2][0])[1] == [b"a", b"b"]


def test_methods_run_at_every_call_of_a_trace(writer, tmp_path):
    @jit.trace
    def step(x, i):
        loss = (x * x).sum()
        writer.add_scalar("loss", loss, i)
        return loss

    for i in range(8):
        step(ingot.ones(3) * i, i)
    writer.flush()
    assert [(s, struct.unpack("<f", v[2][0])[0]) for s, _, v in values(tmp_path)] == [(i, 3.0 * i * i) for i in range(8)]
    assert step.stats()["compiles"] <= 2


@pytest.mark.parametrize("call, error", [
    (lambda w: w.add_scalar("a", [1, 2]), ArgumentError), (lambda w: w.add_histogram("a", [1.0, float("nan")]), ArgumentError),
    (lambda w: w.add_histogram("a", []), ArgumentError), (lambda w: w.add_histogram("a", ingot.ones(2) * 1j), DTypeError),
    (lambda w: w.add_image("a", ingot.rand(5, 4, 4)), ShapeError), (lambda w: w.add_image("a", ingot.rand(4, 4)), ShapeError),
    (lambda w: w.add_image("a", ingot.rand(0, 4, 3), dataformats="HWC"), ShapeError),
    (lambda w: w.add_image("a", ingot.rand(3, 4, 4), dataformats="CXY"), ShapeError),
    (lambda w: w.add_audio("a", ingot.rand(2, 3, 4)), ShapeError),
    (lambda w: w.add_pr_curve("a", [1], [0.1, 0.2]), ArgumentError),
    (lambda w: w.add_hparams({"a": [1]}, {}), ArgumentError), (lambda w: w.add_graph(nn.Linear(2, 2)), ArgumentError),
    (lambda w: w.add_embedding(ingot.rand(3)), ShapeError),
    (lambda w: w.add_embedding(ingot.rand(3, 2), ["a"]), ArgumentError)])
def test_unsupported_data_is_refused(writer, tmp_path, call, error):
    with pytest.raises(error):
        call(writer)
    writer.flush()
    assert not values(tmp_path)


def test_a_run_continues_after_a_crash(tmp_path):
    SummaryWriter(tmp_path, filename_suffix=".end").add_scalar("a", 1, 5)       # never closed: the start of the file is there
    with SummaryWriter(tmp_path, purge_step=3) as writer:
        writer.add_scalar("a", 2, 3)
    assert any(path.name.endswith(".end") for path in files(tmp_path))
    purged = [event for path in files(tmp_path) for event in events(path) if 7 in event]
    assert [(event[2][0], event[7][0]) for event in purged] == [(3, b"\x08\x01")]


def test_events_wait_in_memory(tmp_path):
    file = FileWriter(tmp_path, max_queue=4, flush_secs=1e9)
    sizes = []
    for _ in range(8):
        file.add_event((3, "x"))
        sizes.append(file.path.stat().st_size)
    assert len(set(sizes)) <= 3 and sizes[-1] > 0
    file = FileWriter(tmp_path, max_queue=1000, flush_secs=0)
    file.add_event((3, "x"))
    assert len(events(file.path)) == 2


def test_threads_share_a_writer(writer, tmp_path):
    def log(k):
        for i in range(50):
            writer.add_scalar(f"t{k}", i, i)

    threads = [threading.Thread(target=log, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    writer.close()
    found = values(tmp_path)
    assert len(found) == 400 and all([s for s, tag, _ in found if tag == f"t{k}"] == list(range(50)) for k in range(8))


def _log_in_child(writer):
    writer.add_scalar("child", 1, 1)
    writer.close()


def test_a_forked_process_has_a_file_of_its_own(writer, tmp_path):
    writer.add_scalar("parent", 1, 1)
    child = multiprocessing.get_context("fork").Process(target=_log_in_child, args=(writer,))
    child.start()
    child.join()
    writer.close()
    assert child.exitcode == 0 and len(files(tmp_path)) == 2
    assert sorted(tag for _, tag, _ in values(tmp_path)) == ["child", "parent"]


def test_figures_need_matplotlib(writer, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(1, 1), dpi=50)
    writer.add_figure("f", figure, 1)
    writer.flush()
    (_, _, found), = values(tmp_path)
    assert decoded(fields(found[4][0])[4][0]).shape == (50, 50, 3)
