#!/usr/bin/env python3
"""Adds the list of flags of released versions of vLLM or SGLang, from their published wheels,
or of one build of llama.cpp or one release of TensorRT-LLM.

    extract.py vllm 0.34.0              # writes vllm.txt, which is beside this file
    extract.py sglang 0.5.24 0.5.25
    extract.py llamacpp b11434 --reads PATH
    extract.py trtllm 1.2.1 --reads PATH

PATH is a llama-server or trtllm-serve program, which prints its flags, or the page that its
release generates from the same definitions: tools/server/README.md of llama.cpp's sources, and
commands/trtllm-serve/trtllm-serve.html of TensorRT-LLM's documentation.

It downloads the wheel with pip, unpacks the Python in it, and has the engine's own code
build its argument parser; nothing of the engine is started, and no GPU is needed. What
the code imports and this Python lacks is replaced by a stand-in. torch, transformers and
pydantic must be there: the environment that examples/vllm-cpu/setup.sh makes will do.
A version whose parser cannot be built is named and left out.

    --wheels DIR   keep the wheels there, and use those that are there
"""
import argparse
import importlib.abc
import importlib.machinery
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import zipfile

PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in (39, 35, 34, 31, 28, 24, 17)] + ["manylinux2014_x86_64", "manylinux1_x86_64", "any"]

# What no server takes.
LEFT_OUT = {"--help", "--version", "--cache-list", "--completion-bash", "--list-devices"}


class StandIn(types.ModuleType):
    """A module whose every name exists."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {"__getattr__": lambda s, n: s, "__call__": lambda s, *a, **k: a[0] if a and callable(a[0]) else s,
                               "__class_getitem__": classmethod(lambda c, item: c)})
        value = made if name[:1].isupper() else made()
        setattr(self, name, value)
        return value


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that it was told to."""

    def __init__(self):
        self.names = set()

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def patiently(engine, build):
    """Calls build, and starts this process anew with one more stand-in for each thing that
    is missing: a module that is not there, or a name in a module that is newer than the
    engine wants it."""
    known = stand_ins()
    finder = StandIns()
    finder.names = {w for w in known if ":" not in w}
    sys.meta_path.append(finder)
    for module, _, name in (w.partition(":") for w in known if ":" in w):
        setattr(importlib.import_module(module), name, getattr(StandIn(module), name))
    try:
        return build(engine)
    except ImportError as e:
        missing = re.search(r"cannot import name '(\w+)'", str(e))
        word = e.name.split(".")[0] if isinstance(e, ModuleNotFoundError) else f"{e.name}:{missing and missing[1]}"
        if not e.name or e.name.split(".")[0] == engine or word in known:
            raise
        print(f"{e}: a stand-in takes its place", file=sys.stderr)
        sys.stderr.flush()
        os.environ["PIPELINE_EXTRACT_STAND_INS"] = ",".join([*known, word])
        os.execv(sys.executable, [sys.executable, __file__])


def stand_ins():
    """The modules, and the names in modules, that are known to be missing."""
    return [w for w in os.environ.get("PIPELINE_EXTRACT_STAND_INS", "").split(",") if w]


def keep_registries():
    """Has transformers ignore the engine's own models: a newer transformers has them, and
    refuses them."""
    import transformers

    for name in ("AutoConfig", "AutoTokenizer", "AutoProcessor", "AutoImageProcessor", "AutoModel", "AutoModelForCausalLM"):
        setattr(getattr(transformers, name), "register", staticmethod(lambda *args, **kwargs: None))


def parser_of(engine):
    """Has the engine's code build its parser of the server's arguments."""
    keep_registries()
    if engine == "sglang":
        from sglang.srt.server_args import ServerArgs

        parser = argparse.ArgumentParser()
        ServerArgs.add_cli_args(parser)
        return parser
    sys.modules["vllm.env_override"] = StandIn("vllm.env_override")  # it changes torch's compiler, which takes long to import
    parser = first_of("vllm.utils.argparse_utils", "vllm.utils").FlexibleArgumentParser
    places = ["openai", "common", "launchers"]
    return first_of(*(f"vllm.entrypoints.{p}.cli_args" for p in places)).make_arg_parser(parser())


def first_of(name, *others):
    """The first module that the version has. What it imports and is missing is another matter."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        if not others or not e.name or not f"{name}.".startswith(f"{e.name}."):
            raise
        return first_of(*others)


def kind_of(action):
    """The kind of a flag's values; see table.go. What a converter takes is tried out: the
    engines wrap json.loads and int in functions of their own."""
    name = type(action).__name__
    if isinstance(action, argparse.BooleanOptionalAction):
        return "bool"
    if name == "StoreBoolean":
        return "storebool"
    if action.nargs == 0:
        return "true"
    if reads(action, '{"a": 1}') and not takes(action, "cpu") and action.nargs is None:
        return "json"
    if action.nargs in ("+", "*") or "Append" in name or name == "LoRAParserAction" or isinstance(action.nargs, int):
        return "list"
    if action.choices:
        texts = [str(c) for c in action.choices]
        return "choice " + "|".join(sorted(texts) if isinstance(action.choices, (set, frozenset)) else texts)
    if action.nargs == "?":
        return "optstr"
    for kind, text, number in (("size", "1k", 1000), ("float", "0.5", 0.5), ("int", "7", 7)):
        if reads(action, text) and action.type(text) == number:
            return kind
    return "str"


def reads(action, text):
    """Whether the converter makes something else than a text of it. A refusal that names a
    field means that it was read as JSON."""
    if action.type in (None, str):
        return False
    try:
        return not isinstance(action.type(text), str)
    except Exception as e:
        return text.startswith("{") and any(w in repr(e) for w in ("validation error", "unexpected keyword", "Unexpected keyword"))


def takes(action, text):
    """Whether the converter takes a text at all: some read JSON or a plain word."""
    try:
        action.type(text)
    except Exception:
        return False
    return True


def names_of(action):
    """All names, and behind a "!" those that say the opposite, --no- forms excepted."""
    names = [n for n in action.option_strings if n.startswith("-")]
    opposites = []
    if isinstance(action, argparse.BooleanOptionalAction):
        own = "--" + action.dest.replace("_", "-")
        swapped = {"--enable-": "--disable-", "--disable-": "--enable-"}
        negative = set(getattr(action, "negative_option_strings", ())) | {own.replace(a, b, 1) for a, b in swapped.items() if own.startswith(a)}
        opposites = ["!" + n for n in names if n in negative and not n.startswith("--no-")]
        names = [n for n in names if not n.startswith("--no-") and n not in negative]
    names.sort(key=lambda n: not n.startswith("--"))
    return list(dict.fromkeys(names + opposites))


def describe(engine):
    for action in patiently(engine, parser_of)._actions:
        names = names_of(action)
        if names and not LEFT_OUT & set(names):
            print(",".join(names) + " " + kind_of(action))
    print("missing " + ",".join(w for w in stand_ins() if ":" not in w))


def llamacpp(source):
    """The flags of a llama-server: its first name, and the line of the list."""
    for spec, text in printed(source):
        if "the argument has been removed" in text:
            continue
        names, value = names_and_value(spec)
        if LEFT_OUT & set(names):
            continue
        line = ",".join(names) + " " + kind_of_value(value, text, any(n.startswith("!") or n.startswith("--no-") and len(names) > 1 for n in names))
        names = [n for n in names if not n.startswith("--no-") or len(names) == 1]
        yield names[0], ",".join(names) + " " + line.split(" ", 1)[1]


def printed(source):
    """The flags with their values, and their descriptions, as the program or its page has them."""
    if source.suffix == ".md":
        for spec, text in re.findall(r"^\| `(-[^`]*)` \| (.*) \|$", source.read_text(), re.M):
            yield spec.replace("\\|", "|"), text.replace("<br/>", " ")
        return
    spec, text = "", ""
    for line in subprocess.run([source, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        if line.startswith("-") and not line.startswith("-----"):
            if spec:
                yield spec, text
            # A short name is padded, and so is all before the description.
            spec, _, text = re.sub(r"^(-\S+,) +(?=-)", r"\1 ", line).partition("  ")
        elif line.startswith(" "):
            text += " " + line.strip()
    yield spec, text


def names_and_value(spec):
    """All names, long ones first, with "!" before short ones and others that say the opposite, and the value."""
    names, rest = [], spec.strip()
    while m := re.match(r"(--?[A-Za-z][\w.-]*)(, *| |$)", rest):
        names.append(m[1])
        rest = rest[m.end():]
        if not m[2].startswith(","):
            break
    positive = next((i for i, n in enumerate(names) if n.startswith("--") and not n.startswith("--no-")), None)
    if positive is not None and any(n.startswith("--no-") for n in names):
        longs = [n for n in names if n.startswith("--") and not n.startswith("--no-")]
        implied = {"--no-" + n[2:] for n in longs}
        first_no = next(i for i, n in enumerate(names) if n.startswith("--no-"))
        shorts = [n for n in names[:first_no] if not n.startswith("--")]
        # A short name between the positive and the negated one says the opposite.
        negated = [n for n in shorts if names.index(n) > positive]
        names = longs + [n for n in shorts if n not in negated] + ["!" + n for n in negated] + [
            n if n in implied else "!" + n for n in names if n.startswith("--no-")]
    else:
        names.sort(key=lambda n: not n.startswith("--"))
    return names, rest.strip()


def kind_of_value(value, text, negated):
    """The kind of a flag's values, by how its help writes them."""
    if not value:
        return "bool" if negated else "true"
    if m := re.fullmatch(r"[\[{<]([\w+-]+(?:[|,][\w+-]+)+)[\]}>]", value):
        return "choice " + re.sub(",", "|", m[1])
    if value in ("SECONDS", "PORT", "INDEX", "SEED"):
        return "int"
    if value == "START END":
        return "list"
    if value == "N" and not re.search(r"'\w+'", text):
        return "int" if re.search(r"default: -?\d+(?![\d.])", text) else "float"
    return "str"


def trtllm(source):
    """The flags of trtllm-serve serve: the first name, and the line of the list. Their names have
    underscores, which the list has as dashes."""
    read = trtllm_page if source.suffix == ".html" else trtllm_help
    for names, value, choices in read(source):
        names = [n.replace("_", "-") for n in names if n.startswith("--")]
        if not LEFT_OUT & set(names):
            yield names[0], ",".join(names) + " " + trtllm_kind(names, value, choices)


# What click converts, which its documentation does not show: a page has the name of the value only.
TRTLLM_WHOLE = re.compile(r"--(port|.*-size|max-.*|gpus-per-node|num-.*-workers)$")


def trtllm_kind(names, value, choices):
    if "--extra-llm-api-options" in names:
        return "options"
    if not value:
        return "true"
    if choices:
        return "choice " + "|".join(choices)
    if "--custom-module-dirs" in names:
        return "list"
    if any(n.endswith("-fraction") for n in names):
        return "float"
    return "int" if any(TRTLLM_WHOLE.match(n) for n in names) else "str"


def trtllm_page(source):
    """The flags of the section of "serve" in a page of the documentation."""
    for block in re.findall(r'<dt class="sig sig-object std" id="cmdoption-trtllm-serve-serve-(?!arg-).*?</dd></dl>', source.read_text(), re.S):
        head = block.split("</dt>", 1)[0]
        names = re.findall(r'descname"><span class="pre">(-[^<]*)</span>', head)
        choices = re.search(r"Options<span.*?<p>(.*?)</p>", block, re.S)
        yield names, "&lt;" in head, choices and choices[1].split(" | ")


def trtllm_help(source):
    """The flags that the program prints."""
    text = subprocess.run([source, "serve", "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for spec in re.findall(r"^  (--.*?)(?:  .*)?$", text.partition("Options:")[2], re.M):
        *names, last = spec.split(", ")
        last, _, value = last.partition(" ")
        yield [*names, last], value, value.startswith("[") and value.strip("[]").split("|")


def wheel_of(engine, version, folder):
    found = sorted(folder.glob(f"{engine}-{version}-*.whl")) + sorted(folder.glob(f"{engine}-{version}.post*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.12",
                   "--implementation", "cp", "--abi", "cp312", "--abi", "abi3", "--abi", "none", "--dest", str(folder), f"{engine}=={version}"]
        for p in PLATFORMS:
            command += ["--platform", p]
        subprocess.run(command, check=True)
        found = sorted(folder.glob(f"{engine}-{version}-*.whl"))
    return found[0]


def extract(engine, version, wheels, missing):
    """The lines of one version, and the modules that are missing, which saves the next one to find out."""
    with tempfile.TemporaryDirectory() as scratch:
        wheel = wheel_of(engine, version, wheels or pathlib.Path(scratch))
        code = pathlib.Path(scratch, "code")
        with zipfile.ZipFile(wheel) as z:
            # Lists of choices are read from data files too; libraries are not needed.
            z.extractall(code, [n for n in z.namelist() if n.endswith((".py", ".json"))])
        # The engines look up their own version; "+cpu" makes vLLM do without a device.
        about = code / f"{engine}-{version}+cpu.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {engine}\nVersion: {version}+cpu\n")
        env = dict(os.environ, PYTHONPATH=str(code), PIPELINE_EXTRACT=engine, VLLM_LOGGING_LEVEL="ERROR", VLLM_TARGET_DEVICE="cpu",
                   PIPELINE_EXTRACT_STAND_INS=missing)
        out = subprocess.run([sys.executable, __file__], env=env, cwd=scratch, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = out.splitlines()
    return [line for line in lines if line.startswith("-")], lines[-1].removeprefix("missing ")


SOURCES = {
    "vllm": "vllm, read by extract.py from the argument parsers in its published wheels (Apache-2.0)",
    "sglang": "sglang, read by extract.py from the argument parsers in its published wheels (Apache-2.0)",
    "llamacpp": "llama.cpp, read by extract.py from llama-server --help, or tools/server/README.md of the same release (MIT)",
    "trtllm": "trtllm-serve serve, read by extract.py from trtllm-serve serve --help, or the documentation page of the same release (Apache-2.0)",
}

# Engines whose program or page is read.
READERS = {"llamacpp": llamacpp, "trtllm": trtllm}

# Engines whose parsers take no abbreviations.
EXACT = {"llamacpp", "trtllm"}

HEADER = """\
# Flags of released versions of {source}.
# "exact" means that the parser completes no abbreviations.
# "= VERSION" begins a version; then follow its differences to the one before: "+ FLAG" is new or other, "- NAME" is gone.
# A flag: names with commas between, those that say the opposite behind "!", and a kind. Kinds: str, int, float,
# size (int that also takes 8k or 1M), json, list (one or more values), optstr (with or without a value), choice a|b,
# options (a file of settings that take precedence over the flags); true takes no value, bool has a --no- form as well,
# storebool takes an optional true or false.
"""


def order(version):
    """The place of a version among others: its numbers, and that of a post release."""
    numbers, _, post = version.removeprefix("b").partition(".post")
    return [int(n) for n in numbers.split(".")], int(post or 0)


def read(path):
    """All versions of a file: for each, its flags by their first names."""
    versions, flags = {}, {}
    for line in path.read_text().splitlines() if path.exists() else []:
        sign, _, rest = line.partition(" ")
        if sign == "=":
            versions[rest] = flags = dict(flags)
        elif sign == "+":
            flags[first(rest)] = rest
        elif sign == "-":
            del flags[rest]
    return versions


def first(line):
    return re.split("[ ,]", line, maxsplit=1)[0]


def write(path, versions):
    before, out = {}, [HEADER.format(source=SOURCES[path.stem])]
    if path.stem in EXACT:
        out.append("exact\n")
    for version in sorted(versions, key=order):
        flags = versions[version]
        out.append(f"= {version}\n")
        out += [f"- {name}\n" for name in sorted(before) if name not in flags]
        out += [f"+ {flags[name]}\n" for name in sorted(flags) if flags[name] != before.get(name)]
        before = flags
    path.write_text("".join(out))


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("engine", choices=list(SOURCES))
    args.add_argument("versions", nargs="+", metavar="version")
    args.add_argument("--wheels", type=pathlib.Path)
    args.add_argument("--reads", type=pathlib.Path)
    given = args.parse_args()
    path = pathlib.Path(__file__).with_name(given.engine + ".txt")
    if given.engine in READERS:
        if not given.reads or len(given.versions) != 1:
            args.error(f"{given.engine} takes one version, and --reads")
        write(path, {**read(path), given.versions[0]: dict(READERS[given.engine](given.reads))})
        return
    failed, missing = [], ""
    for version in given.versions:
        try:
            lines, missing = extract(given.engine, version, given.wheels, missing)
        except (subprocess.CalledProcessError, IndexError) as e:
            print(f"{given.engine} {version}: {e}", file=sys.stderr)
            failed.append(version)
            continue
        write(path, {**read(path), version: {first(line): line for line in lines}})
    if failed:
        sys.exit(f"left out: {' '.join(failed)}")


if __name__ == "__main__":
    engine = os.environ.get("PIPELINE_EXTRACT")
    if engine:
        describe(engine)
    else:
        main()
