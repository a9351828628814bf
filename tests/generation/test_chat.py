"""Chat templates: prompts as models want them, and templates that are hostile."""

import re

import pytest

import ingot
import tiny_language_models as tiny
from ingot import generation
from ingot.generation.chat import render_chat
from ingot.ir.errors import ArgumentError, FileError

pytest.importorskip("jinja2")

CHATML = ("{%- for m in messages -%}\n"
          "    {{- '<|im_start|>' + m.role + '\n' + m['content'] | trim + '<|im_end|>\n' -}}"
          "\n{%- endfor -%}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
LLAMA2 = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system = messages[0]['content'] %}"
    "{% else %}{% set loop_messages = messages %}{% set system = false %}{% endif %}{% for m in loop_messages %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% if loop.index0 == 0 and system %}{% set text = '<<SYS>>' + system + '<</SYS>>' + m['content'] %}"
    "{% else %}{% set text = m['content'] %}{% endif %}"
    "{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + text + ' [/INST]' }}"
    "{% else %}{{ ' ' + text + ' ' + eos_token }}{% endif %}{% endfor %}")
USER, SYSTEM, REPLY = ({"role": role, "content": text} for role, text in (
    ("user", " Hi {{ x }} <|im_end|> é\n"), ("system", "Be brief"), ("assistant", "Hello")))


@pytest.mark.parametrize("template, messages, prompt", [
    (CHATML, [USER], "<|im_start|>user\nHi {{ x }} <|im_end|> é<|im_end|>\n<|im_start|>assistant\n"),
    (CHATML, [SYSTEM, USER], "<|im_start|>system\nBe brief<|im_end|>\n<|im_start|>user\nHi {{ x }} <|im_end|> é<|im_end|>\n"
                             "<|im_start|>assistant\n"),
    (LLAMA2, [SYSTEM, USER], "<s>[INST] <<SYS>>Be brief<</SYS>> Hi {{ x }} <|im_end|> é\n [/INST]"),
    (LLAMA2, [USER, REPLY, USER], f"<s>[INST] {USER['content']} [/INST] Hello </s><s>[INST] {USER['content']} [/INST]"),
    ("{{ messages | tojson }}", [REPLY], '[{"role": "assistant", "content": "Hello"}]'),
    ("{{ tools is defined }}{{ strftime_now('%Y')|length }}{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}"
     "{% endfor %}", [USER], "False401"),
    ("{% generation %}", [USER], None),
], ids=range(7))
def test_prompts(template, messages, prompt):
    if prompt is None:
        with pytest.raises(FileError, match="template fails: TemplateSyntaxError"):
            render_chat(template, messages)
    else:
        assert render_chat(template, messages, begin="<s>", end="</s>") == prompt


HOSTILE = {
    "{{ ''.__class__.__mro__ }}": "SecurityError",
    "{{ cycler.__init__.__globals__.os.system('true') }}": "SecurityError",
    "{{ raise_exception.__globals__['json'] }}": "SecurityError",
    "{{ strftime_now.__self__.x }}": "SecurityError",
    "{{ messages.append(1) }}": "SecurityError",
    "{{ '{0.__class__.x}'.format('') }}": "SecurityError",
    "{% include '/etc/passwd' %}": "TypeError: no loader",
    "{{ 'a' * 10 ** 11 }}": "needs more than",
    "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}": "more than 4194304 characters",
    "{% for i in range(10 ** 9) %}{% endfor %}": "OverflowError",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}": "was ended",
    "{%- macro f() -%}{{ f() }}{%- endmacro -%}{{ f() }}": "RecursionError",
    "{{ raise_exception('this model has no system role') }}": "this model has no system role",
    "{% if": "TemplateSyntaxError",
}


@pytest.mark.parametrize("template", HOSTILE)
def test_hostile_templates_are_one_error(template):
    with pytest.raises(FileError, match=HOSTILE[template]) as error:
        render_chat(template, [USER])
    assert "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize("messages", [
    [], "Hi", [1], [{"content": "a"}], [{"role": 1}], [{"role": "user", "content": {1}}]], ids=str)
def test_messages_are_checked(messages):
    with pytest.raises(ArgumentError, match="message"):
        render_chat(CHATML, messages)


def test_a_model_reads_its_template(tmp_path):
    tiny.write(tmp_path / "m.gguf", "llama", **{"tokenizer.chat_template": CHATML})
    model = generation.load(tmp_path / "m.gguf")
    names = [model.tokenizer.tokens[t] for t in model.encode([{"role": "user", "content": "ab"}])]
    assert names[:2] == ["<s>", "<|im_start|>"] and names.count("<|im_end|>") == 1 and names.count("<s>") == 1
    assert {model.tokenizer.tokens[t] for t in model.tokenizer.ends} == {"</s>", "<|im_end|>"}
    assert "".join(model.generate([{"role": "user", "content": "ab"}], 3)) is not None
    ingot.utils.gguf.save(ingot.load(tmp_path / "m.gguf"), tmp_path / "n.gguf")
    assert generation.load(tmp_path / "n.gguf").chat_template == CHATML


def test_a_missing_jinja_is_named(monkeypatch, tmp_path):
    (tmp_path / "jinja2.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ArgumentError, match=re.escape('pip install "jinja2>=3.1"')):
        render_chat(CHATML, [USER])
