"""Program that renders a chat template: a JSON object on standard input, the prompt as JSON on standard output.

A template comes from a file that may be hostile. `chat.py` runs this file as a process of its own, whose memory and time are
limited, and Jinja's sandbox keeps the template from Python. So it imports nothing of the package.
"""

import json
import sys

MEMORY = 1 << 29        # bytes of the process
SECONDS = 2             # of the processor
LONGEST = 1 << 22       # characters of a prompt


def limit():
    """Limit this process, on systems that can."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def render(template: str, variables: dict) -> dict:
    """Return {"prompt": ...}, {"error": ...} if the template does not render, or {"missing": a package that is needed}."""
    try:
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        return {"missing": "jinja2"}

    def refuse(message):
        raise jinja2.exceptions.TemplateError(str(message))

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = variables.pop("strftime_now", {}).get
    environment.filters["tojson"] = lambda value, indent=None, **_: json.dumps(value, ensure_ascii=False, indent=indent)
    parts, size = [], 0
    try:
        for part in environment.from_string(template).generate(**variables):
            parts.append(part)
            size += len(part)
            if size > LONGEST:
                return {"error": f"the chat template makes a prompt of more than {LONGEST} characters"}
    except MemoryError:
        return {"error": f"the chat template needs more than {MEMORY >> 20} MiB"}
    except Exception as e:      # whatever a hostile template raises is its failure, and nothing else runs here
        return {"error": f"the chat template fails: {type(e).__name__}: {str(e)[:200]}"}
    return {"prompt": "".join(parts)}


if __name__ == "__main__":
    limit()
    given = json.load(sys.stdin)
    json.dump(render(given["template"], given["variables"]), sys.stdout)
