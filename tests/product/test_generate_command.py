"""`ingot generate` as a person types it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tiny_language_models as tiny
from ingot.__main__ import main
from ingot.utils import gguf


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.gguf"
    tiny.write(path, "llama", seed=2)
    return str(path)


def test_text_comes_with_a_line_of_figures(path, capsys):
    words = ["generate", path, "ab th", "-n", "12", "--seed", "3", "--threads", "1"]
    assert main(words) == 0
    first = capsys.readouterr()
    assert first.out.endswith("\n") and "tokens of prompt" in first.err and "seed 3" in first.err and "tokens/s" in first.err
    assert main(words) == 0
    assert capsys.readouterr().out == first.out


def test_json(path, capsys):
    assert main(["generate", path, "ab", "-n", "5", "--json", "--temperature", "0"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["tokens"], facts["ended"], facts["prompt_tokens"]) == (5, "length", 2) and facts["tokens_per_second"] > 0
    assert main(["generate", path, "ab", "-n", "500", "--json", "--context", "9", "--seed", str(facts["seed"])]) == 0
    assert json.loads(capsys.readouterr().out)["ended"] in ("context", "end")
    assert main(["generate", path, "ab", "-n", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens_per_second"] is None


@pytest.mark.parametrize("words, code, message", [
    (["{path}", "ab", "-n", "0"], 2, "--max-tokens takes a positive number"),
    (["{path}", "ab", "--system", "x"], 2, "--system needs --chat"),
    (["{path}", "ab", "--top-p", "7"], 1, "top_p is 7.0"),
    (["{path}", "ab", "--temperature", "nan"], 1, "temperature is nan"),
    (["{path}", "ab", "--seed", "9" * 30], 1, "a seed is an integer"),
    (["{path}", "ab", "--threads", "0"], 1, "set_num_threads expects an int from 1"),
    (["{path}", "ab", "--chat"], 1, "no chat template"),
    (["{path}", "ab" * 100], 1, "a prompt has 1 to 63 tokens"),
    (["{path}", "ab", "--context", "65"], 1, "2 to 64 tokens, got 65"),
    (["{path}", "ab", "--context", "3"], 1, ""),
    (["{folder}/absent.gguf", "ab"], 1, "No such file"),
    (["{folder}/damaged.gguf", "ab"], 1, "damaged"),
    (["{folder}/text.gguf", "ab"], 1, "text.gguf is not a"),
    (["{folder}/foreign.gguf", "ab"], 1, "foreign.gguf: ingot generates text with the architectures llama"),
    (["{folder}/numbers.gguf", "ab"], 1, "no tokenizer"),
], ids=str)
def test_errors_are_one_line(words, code, message, path, tmp_path, capsys):
    s = tiny.sizes_of("llama")
    data = Path(path).read_bytes()
    (tmp_path / "damaged.gguf").write_bytes(data[:len(data) // 2])
    (tmp_path / "text.gguf").write_text("no model")
    gguf.save(tiny.tensors_of(s), tmp_path / "foreign.gguf", tiny.metadata_of(s) | {"general.architecture": "mamba"})
    gguf.save(tiny.tensors_of(s), tmp_path / "numbers.gguf",
              {k: v for k, v in tiny.metadata_of(s).items() if "tokenizer" not in k})
    words = [word.replace("{path}", path).replace("{folder}", str(tmp_path)) for word in words]
    if not message:
        assert main(["generate", *words]) == 0
        return
    assert main(["generate", *words]) == code
    out, err = capsys.readouterr()
    assert not out and message in err and err.startswith("error: ") and err.count("\n") == 1


def test_a_prompt_from_standard_input(path):
    done = subprocess.run([sys.executable, "-m", "ingot", "generate", path, "-", "-n", "2", "--json"], input="ab th", text=True,
                          capture_output=True, timeout=100)
    assert done.returncode == 0 and json.loads(done.stdout)["tokens"] == 2, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_ends_with_130(tmp_path):
    s = tiny.sizes_of("llama")
    s.context = 1 << 20
    metadata = tiny.metadata_of(s)
    del metadata["tokenizer.ggml.eos_token_id"]
    metadata["tokenizer.ggml.tokens"][2:4] = ["unused", "unused too"]
    gguf.save(tiny.tensors_of(s), tmp_path / "m.gguf", metadata)
    words = ["-n", "100000", "--context", "100000", "--temperature", "3", "--top-k", "0", "--top-p", "1"]
    with subprocess.Popen([sys.executable, "-m", "ingot", "generate", str(tmp_path / "m.gguf"), "ab", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and err == b"interrupted\n" and out.endswith(b"\n"), err
