"""Commands as a person types them: `python -m ingot ...` and `python -m benchmarks`."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import ingot
import mock_cuda
from ingot import __main__, doctor
from ingot.ir import config
from ingot.utils import collect_env

ROOT = Path(ingot.__file__).parent


def run(*words, **kwargs):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=110, **kwargs)


def test_doctor_reports_on_this_machine():
    done = run("-m", "ingot", "doctor")
    assert done.returncode == 0, done.stderr
    for topic in ("processor", "threads", "kernel cache", "numpy", "llvmlite", "gpu"):
        assert topic in done.stdout


def test_doctor_names_what_is_missing(monkeypatch):
    monkeypatch.setattr(doctor, "version_of", lambda package: None)
    lines = []
    assert doctor.report(doctor.examine(), lines.append) == 1
    assert any('pip install "llvmlite>=0.45"' in line for line in lines)


def test_doctor_sees_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    """Permissions do not tell: root may do anything, and disks are full."""
    (tmp_path / "file").write_text("not a folder")
    with config.override(cache_dir=str(tmp_path / "file" / "cache")):
        found, = doctor.look_at_cache()
    assert found.state == doctor.NOTE and "(Not a directory)" in found.advice and "INGOT_CACHE_DIR" in found.advice

    if hasattr(os, "getuid"):
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared").chmod(0o777)
        with config.override(cache_dir=str(tmp_path / "shared")):
            found, = doctor.look_at_cache()
        assert found.state == doctor.NOTE and "not used: other users may write" in found.advice and "chmod go-w" in found.advice

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with config.override(cache_dir=str(tmp_path / "not" / "yet")):
        assert [f.state for f in doctor.look_at_cache()] == [doctor.GOOD] and not (tmp_path / "not").exists()
        monkeypatch.setattr(doctor.tempfile, "TemporaryFile", full)
        assert "(No space left on device)" in next(doctor.look_at_cache()).advice


def test_the_report_for_others_is_a_program_and_a_function():
    done = run("-m", "ingot.utils.collect_env")
    assert done.returncode == 0 and done.stdout.rstrip() == collect_env.get_pretty_env_info(), done.stderr
    found = collect_env.get_env_info()
    assert found.torch_version == ingot.__version__ and "numpy==" in found.pip_packages and "threads" in found.cpu_info
    assert found.is_cuda_available == str(ingot.cuda.is_available())
    for other in ("ingot.nn.functional", "ingot.utils.nothing"):
        assert run("-m", other).returncode == 1


def test_gpus_are_reported():
    with mock_cuda.installed(devices=2):
        assert [f.what for f in doctor.look_at_gpu()] == [f"{i}: Mock H200, 1 GiB, compute capability 9.0" for i in range(2)]
        found = collect_env.get_env_info()
        assert found.is_cuda_available == "True" and found.nvidia_gpu_models.count("Mock H200") == 2
        assert found.cuda_runtime_version == "{}.{}".format(*divmod(ingot.cuda.driver_version() // 10, 100))
    if not ingot.cuda.is_available():
        assert [f.state for f in doctor.look_at_gpu()] == [doctor.NOTE]


def test_an_unknown_command_says_what_there_is():
    done = run("-m", "ingot", "nonsense")
    assert done.returncode == 2
    assert "doctor" in done.stderr and "demo" in done.stderr


@pytest.mark.timeout(120)
def test_demo_learns_and_draws(tmp_path):
    done = run("-m", "ingot", "demo", "--epochs", "2", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "largest difference between the two losses at any step: 0" in done.stdout
    assert "largest difference to eager" in done.stdout and (tmp_path / "digits.ingot").stat().st_size > 10_000
    for name in ("loss.svg", "network.svg"):
        assert ET.fromstring((tmp_path / name).read_text()).tag.endswith("svg")


@pytest.mark.slow
def test_benchmarks_print_a_table_and_write_json(tmp_path):
    out = tmp_path / "result.json"
    done = run("-m", "benchmarks", "add", "--quick", "--json", str(out), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "a + b, 8 floats" in done.stdout and out.exists()


def test_benchmarks_refuse_an_unknown_name():
    done = run("-m", "benchmarks", "nonsense", cwd=ROOT)
    assert done.returncode != 0 and "no such benchmark" in done.stderr


@pytest.mark.parametrize(("error", "code", "said"), [
    (None, 0, ""), (KeyboardInterrupt(), 130, "interrupted"), (ingot.ir.errors.FileError("damaged"), 1, "error: damaged"),
    (FileNotFoundError(2, "No such file", "x.npy"), 1, "error: x.npy: No such file"),
    (__main__.UsageError("two words"), 2, "error: two words")], ids=repr)
def test_exit_codes_say_how_a_command_ended(error, code, said, monkeypatch, capsys):
    def work(args):
        if error is not None:
            raise error
        return 0

    monkeypatch.setitem(__main__.COMMANDS, "doctor", (*__main__.COMMANDS["doctor"][:-1], work))
    assert __main__.main(["doctor"]) == code and capsys.readouterr().err.strip() == said
