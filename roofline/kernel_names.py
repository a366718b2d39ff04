"""Kernel names: one reading of C++ signatures, and what kernels of some names are.

Everything here takes time linear in the name: brackets are matched in one pass with a stack, and
no pattern tries a part of a name twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from roofline.foreign import printable as printable

ELLIPSIS = "…"
NAMELESS = "(no name)"

# --- what kernels are, by their name without template arguments -------------------------------

# What fills memory before the work that is meant: generators of random numbers, fills.
INITIALISATION = (
    r"distribution_elementwise|FillFunctor|fill_functor|(?:^|::)curand|gen_sequenced|generate_seed"
)

# Where a word begins and ends in a name, whatever the case of the pattern around it.
_HUMP = r"(?-i:(?<=[a-z\d])(?=[A-Z]))"
_BEGIN, _END = rf"(?:(?<![^\W_])|{_HUMP})", rf"(?:(?![^\W_])|{_HUMP})"
# Templates whose arguments say what they do: PyTorch's and CUTLASS's frames, Kokkos's launches.
_FRAME = (
    r"(?:device_kernel|kernel2?|(?:(?:vectorized|unrolled|templated|legacy)_)*elementwise_kernel\w*"
    r"|cuda_parallel_launch\w*|_kernel_agent)"
)
# A scope, a return type, or a part of one: up to the first template argument or parameter.
_SCOPE = r"[^<(]*(?:(?:<unnamed>|\(anonymous namespace\))[^<(]*)*"
COMMUNICATION = "communication"


@cache
def _table() -> dict[str, Any]:
    import tomllib  # not for --help

    text = Path(__file__).with_name("kernel_names.toml").read_text("utf-8")
    table = tomllib.loads(text)
    for row in table["families"].values():
        row["pattern"] = row["pattern"].replace("{", _BEGIN).replace("}", _END)
    return table


def families() -> dict[str, str]:
    """Kind of work -> what its kernels are called, for people; ``COMMUNICATION`` comes first."""
    like = {name: row["like"] for name, row in _table()["families"].items()}
    return {COMMUNICATION: "NCCL, NVSHMEM, all-reduce and the like"} | like


def libraries() -> tuple[str, ...]:
    """The libraries that are known by their kernels' names."""
    return tuple(_table()["libraries"])


@cache
def _compiled(what: str) -> dict[str, re.Pattern[str]]:
    """The patterns of a part of the table."""
    rows = _table()[what].items()
    if what == "families":
        rows = [(name, f"(?i:{row['pattern']})") for name, row in rows]
    return {name: re.compile(pattern) for name, pattern in rows}


def _collective() -> str:
    return "|".join(_table()["collectives"].values())


@cache
def _any_collective() -> re.Pattern[str]:
    return re.compile(_collective())


def is_collective(name: str) -> bool:
    """Whether a kernel waits for other GPUs, by its name without template arguments."""
    return _any_collective().search(qualified_name(name)) is not None


def is_initialisation(name: str) -> bool:
    """Whether a signature, template arguments and all, is of a library's random numbers or fill."""
    return re.search(INITIALISATION, name[:_LONGEST]) is not None


def no_collective() -> str:
    """What begins a regular expression that no collective matches, in Python's engine and ncu's.

    ncu cannot exclude but by looking ahead: it sees the whole signature, so look only as far as
    the first template argument or parameter.
    """
    return f"^(?!{_SCOPE}(?:{_collective()}))"


def family_words(text: str) -> tuple[str, ...]:
    """The families that ``text`` names ("gemm", "gemm,norm"); none where it is anything else."""
    words = tuple(word.strip() for word in text.split(","))
    return words if {*words} <= {*families()} else ()


@lru_cache(4096)
def family(name: str) -> str | None:
    """The kind of work that a name tells: a key of ``families``."""
    if is_collective(name):
        return COMMUNICATION
    parsed = parse(name[:_LONGEST])
    found = None
    if parsed.arguments and re.fullmatch(_FRAME, parsed.base, re.IGNORECASE):
        found = _first("families", " ".join(parsed.arguments))
    scopes = "::".join(parsed.namespaces)
    return found or _first("families", parsed.base) or _first("families", scopes)


@lru_cache(4096)
def library(name: str) -> str | None:
    """The library that a kernel is from, as far as its name tells: one of ``libraries``."""
    parsed = parse(name[:_LONGEST])
    found = _first("libraries", "::".join((*parsed.namespaces, parsed.base)).lower())
    if found == "cutlass" and parsed.arguments:
        return _first("libraries", qualified_name(parsed.arguments[0]).lower()) or found
    return found


def foreign(name: str) -> bool:
    """Whether a library's authors made the kernel, so that only its callers can change anything."""
    made_by = library(name)
    return made_by is not None and made_by not in _table()["own"]


def _first(what: str, text: str) -> str | None:
    rows = _compiled(what).items()
    return next((key for key, pattern in rows if pattern.search(text)), None)


def family_regex(wanted: Iterable[str]) -> str:
    """A regular expression for the signatures whose ``family`` is one of ``wanted``.

    For Python's engine and for ncu's, which searches whole signatures: what a template is given,
    the function's own name and its scopes are told apart by looking ahead, as ``family`` does. Of
    functions within a class template the own name counts, not the scopes.
    """
    rows = {name: row["pattern"] for name, row in _table()["families"].items()}
    wanted, every = set(wanted), "|".join(rows.values())

    def first(within: str) -> str:
        """Looks ahead: the first family within is one that is wanted."""
        names = list(rows)
        ways = [
            f"(?={within}(?:{rows[name]}))"
            + (f"(?!{within}(?:{'|'.join(rows[n] for n in names[:at])}))" if at else "")
            for at, name in enumerate(names)
            if name in wanted
        ]
        return f"(?:{'|'.join(ways)})"

    # After a return type that is a template, if there is one.
    start = r"(?>(?:(?:std::)?enable_if(?:_t)?<[\s\S]*?>(?:::type)? )?)"
    own, end, anything = "[^<(: ]*", "[^<(: ]*(?:[<(]|$)", r"[\s\S]*"
    to_base = f"(?:{_SCOPE}[: ])?"
    # Of the frames only the names of PyTorch's are a family, which counts where arguments are none.
    framed = f"(?!{_FRAME}<(?={anything}(?:{every})))" if "elementwise" in wanted else ""
    ways = (
        f"{to_base}{_FRAME}<{first(anything)}",
        f"{to_base}{framed}{first(own)}{end}",
        f"{first(_SCOPE)}{to_base}(?!{own}(?:{every})){end}",
        # Behind a class template: what its parameters follow, to the end.
        rf"{anything}>::{first(own)}[^<(: ]*(?:<{anything}>)?\([^()]*\)(?: const)?(?: \[|$)",
    )
    parts = [f"{no_collective()}(?i:{start}(?:{'|'.join(ways)}))"] if wanted & {*rows} else []
    if COMMUNICATION in wanted:
        parts.append(f"^(?={_SCOPE}(?:{_collective()}))")
    # "^sum" is the beginning of the function's name.
    return "|".join(part.replace("|^", r"|(?<![^: ])") for part in parts)


# --- C++ signatures ---------------------------------------------------------------------------

_CLOSES = {"<": ">", "(": ")", "[": "]", "{": "}"}
# Brackets, and what only looks like one.
_SIGN = re.compile(r"\boperator\s*(?:\(\)|->|<=>|<<|>>|[<>]=?)|->|[<>()\[\]{}]")
_MARK = re.compile(r"::|[<(\[{, ]")
# What follows the parameters, if anything does; a scope instead makes them another function's.
_TRAILER = re.compile(r" ?(?:const\b|&)? ?(?:$|\[)")
_SCOPE_CONST = re.compile(r" const(?:::|$)")
_ANONYMOUS = "(anonymous namespace)"
_NAMELESS_SCOPES = ("<unnamed>", "{anonymous}", "_GLOBAL__N_")
_CAST = re.compile(r"\([A-Za-z_][\w:]*(?: [A-Za-z_][\w:]*)*\)(?=-?\d)")  # (unsigned int)4
_ENCODED = re.compile(r"\[abi:[^\[\]]*\]")  # Numba's arguments, a library's version
_SUFFIX = re.compile(r"\b(\d+)(?:u|l|ul|ll|ull)\b", re.IGNORECASE)  # 4ul
_LONGEST = 8192  # letters of a name that are looked at to show it; CUTLASS has 5,000
_COMPARED = 256  # letters of two names that are held against each other
_DEEPEST = 24  # levels of template arguments that are taken apart; what is deeper stays as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A C++ signature taken apart, without its return type.

    A name that is no signature (mangled, Triton's, cut off) is all ``base``, as far as it goes.
    ``arguments`` is ``None`` where there are no template arguments.
    """

    full: str  # namespaces, base and template arguments as they are written
    namespaces: tuple[str, ...]
    base: str
    arguments: tuple[str, ...] | None = None
    parameters: str | None = None


@lru_cache(1024)
def parse(name: str) -> Signature:
    """Take a signature apart; never fails."""
    text = name.strip()
    closing = _brackets(text)
    start, end, parameters = _extent(text, closing)
    *scopes, last = _split(text, closing, start, end, "::")
    head, arguments, tail = _template(text, closing, *last)
    return Signature(
        full=text[start:end],
        namespaces=tuple(_scope(text, closing, *scope) for scope in scopes),
        base=head + tail or text[start:end],
        arguments=None if arguments is None else tuple(text[i:j].strip() for i, j in arguments),
        parameters=parameters,
    )


def qualified_name(name: str) -> str:
    """``name`` without template arguments, parameters and return type, namespaces kept."""
    parsed = parse(name)
    return "::".join((*parsed.namespaces, parsed.base))


def base_name(name: str) -> str:
    """The bare function name, which ncu calls "function": ``void a::f<int>(int)`` gives ``f``."""
    return parse(name).base


def own_name(name: str, demangled: str) -> str:
    """The function's ``name``; of Numba's kernels ncu gives their encoded arguments for it."""
    return _ENCODED.sub("", base_name(demangled)) if "[abi:" in demangled else name


def comparable(name: str) -> str:
    """A form in which one kernel has one spelling, whoever demangled its name.

    NVIDIA's demangler writes ``f<(int)4, (bool)1, char *>(T1)`` where GNU's writes
    ``f<4, true, char*>(int)``. Parameters and return type are dropped.
    """
    text = parse(name).full.replace("<unnamed>", _ANONYMOUS)
    text = _INSTANCE.sub(r"#\1}", text.replace("[lambda(", "{lambda("))
    text = _BOOL.sub(lambda m: "1" if m[0] == "true" else "0", _plain(text))
    return "".join(text.split())


_INSTANCE = re.compile(r" \(instance (\d+)\)\]")
_BOOL = re.compile(r"\b(?:true|false)\b")


def _plain(text: str) -> str:
    """Without casts before numbers and letters after them."""
    return _SUFFIX.sub(r"\1", _CAST.sub("", text))


def _brackets(text: str) -> dict[int, int]:
    """The place of each opening bracket and of the one that closes it, or of the end."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for match in _SIGN.finditer(text):
        sign, at = match[0], match.start()
        within = text[opened[-1]] if opened else ""
        if sign in _CLOSES:
            if sign != "<" or within in ("", "<"):  # else it compares, as in (a < b)
                opened.append(at)
        elif within and sign == _CLOSES[within]:
            closing[opened.pop()] = at
    return closing | dict.fromkeys(opened, len(text))


def _marks(text: str, closing: dict[int, int], start: int, end: int) -> Iterator[tuple[int, str]]:
    """What stands outside of brackets: scopes, commas, spaces, and brackets that open."""
    at = start
    while match := _MARK.search(text, at, end):
        yield match.start(), match[0]
        at = closing.get(match.start(), match.end() - 1) + 1


def _extent(text: str, closing: dict[int, int]) -> tuple[int, int, str | None]:
    """Where the name begins and ends, and the parameters."""
    starts, end, parameters = [0], len(text), None
    for at, sign in _marks(text, closing, 0, len(text)):
        if sign == " " and not (text.endswith("operator", 0, at) or _SCOPE_CONST.match(text, at)):
            starts.append(at + 1)
        elif sign == "[" and text[at - 1 : at] == " ":  # [clone .x], [with T = int]
            end = at
            break
        elif (
            sign == "("
            # "prefill (batch 8)" is somebody's own name.
            and (text[at - 1 : at] != " " or "<" in text[:at])
            and at in closing
            and _TRAILER.match(text, closing[at] + 1)
        ):
            end, parameters = at, text[at + 1 : closing[at]]
            break
    # A return type stands before parameters or template arguments: "decode step" is a name.
    if not text[:end].strip() or (parameters is None and "<" not in text):
        return 0, len(text), None
    while end and text[end - 1] == " ":
        end -= 1
    while starts[-1] >= end:
        starts.pop()
    return starts[-1], end, parameters


def _split(
    text: str, closing: dict[int, int], start: int, end: int, separator: str
) -> list[tuple[int, int]]:
    """The extents of the pieces between separators outside of brackets."""
    parts = []
    for at, sign in _marks(text, closing, start, end):
        if sign == separator:
            parts.append((start, at))
            start = at + len(separator)
    return [*parts, (start, end)]


def _template(
    text: str, closing: dict[int, int], start: int, end: int
) -> tuple[str, list[tuple[int, int]] | None, str]:
    """What stands before template arguments, their extents or ``None``, and what stands behind."""
    for at, sign in _marks(text, closing, start, end):
        if sign == "<" and at > start and at in closing:
            inner = min(closing[at], end)
            empty = not text[at + 1 : inner].strip()
            given = [] if empty else _split(text, closing, at + 1, inner, ",")
            return text[start:at].strip(), given, text[inner + 1 : end].rstrip()
    return text[start:end].strip(), None, ""


def _scope(text: str, closing: dict[int, int], start: int, end: int) -> str:
    """A namespace, class or function in which another name lies."""
    head, arguments, _ = _template(text, closing, start, end)
    if head.startswith(_NAMELESS_SCOPES):
        return _ANONYMOUS
    if arguments is not None or head.startswith(("(", "{", "[")):
        return head
    call = next((a for a, s in _marks(text, closing, start, end) if s == "(" and a in closing), end)
    return text[start:call].strip()


# --- forms for people and for pairing ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """``head<args>tail`` without namespaces; ``args`` is ``None`` without template arguments."""

    head: str
    args: tuple[_Part, ...] | None = None
    tail: str = ""

    def text(self, depth: int = _DEEPEST) -> str:
        """All of it, with template arguments of more than ``depth`` levels cut out."""
        if self.args is None:
            return self.head
        inner = ", ".join(a.text(depth - 1) for a in self.args) if depth else ELLIPSIS
        return f"{self.head}<{inner if self.args else ''}>{self.tail}"


def _part(text: str, closing: dict[int, int], start: int, end: int, depth: int = 0) -> _Part:
    last = _split(text, closing, start, end, "::")[-1]
    if not text[slice(*last)].strip():
        last = (start, end)
    head, args, tail = _template(text, closing, *last)
    if args is None or depth == _DEEPEST:
        return _Part(_plain(text[slice(*last)].strip()))
    return _Part(head, tuple(_part(text, closing, *a, depth + 1) for a in args), tail)


@lru_cache(4096)
def _shown(name: str) -> _Part:
    text = _ENCODED.sub("", printable(name)).strip() or NAMELESS
    closing = _brackets(text)
    start, end, _ = _extent(text, closing)
    return _part(text, closing, start, end)


def short(name: str, width: int = 40) -> str:
    """The most telling form of a (demangled) kernel name in at most ``width`` characters.

    Return type, parameters, encoded arguments and namespaces go first, then the insides of template
    arguments, then the arguments from the last one on, then the middle of the name.
    """
    part = _shown(name[:_LONGEST])
    fitting = (text for text in _forms(part, width) if len(text) <= width)
    return next(fitting, None) or middle(part.head, width)


def short_all(names: Iterable[str], width: int = 40) -> list[str]:
    """``short`` for several names; those that would look the same show where they differ."""
    full = list(names)
    shorts = {name: short(name, width) for name in full}
    alike: dict[str, set[str]] = {}
    for name, text in shorts.items():
        alike.setdefault(text, set()).add(name)
    for text, same in alike.items():
        if len(same) > 1:
            shorts |= _apart(sorted(same), text, width)
    return [shorts[name] for name in full]


def middle(text: str, width: int) -> str:
    """``text`` with its middle cut out so that it fits into ``width``."""
    if len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    tail = (width - 1) // 3
    return text[: width - 1 - tail] + ELLIPSIS + (text[-tail:] if tail else "")


def cut(text: str, width: int) -> str:
    """``text`` with its end cut off so that it fits into ``width``."""
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def few(words: Collection[str], most: int = 4, joint: str = ", ") -> str:
    """The first of many: "a, b, c, d and 9,996 more"."""
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return joint.join(islice(words, most)) + more


def _forms(part: _Part, width: int) -> Iterator[str]:
    yield part.text()
    yield part.text(1)
    if part.args:
        yield from _leading_arguments(part.head, [a.text(0) for a in part.args], width)
        yield part.text(0)
    yield part.head


def _leading_arguments(head: str, args: list[str], width: int) -> Iterator[str]:
    """``head`` with as many arguments as fit, else with a part of the first."""
    used, kept = len(head) + 3, 0  # <, the ellipsis and >
    while kept < len(args) - 1 and used + len(args[kept]) + 2 <= width:
        used += len(args[kept]) + 2
        kept += 1
    if kept:
        yield f"{head}<{', '.join(args[:kept])}, {ELLIPSIS}>"
    rest = f", {ELLIPSIS}" if len(args) > 1 else ""
    room = width - len(head) - 2 - len(rest)
    if room >= 12:  # below that a fragment of an argument tells nobody anything
        yield f"{head}<{middle(args[0], room)}{rest}>"


def _apart(names: list[str], same: str, width: int) -> dict[str, str]:
    """Forms of names with one ``short`` form that begin shortly before the first difference."""
    parts = [_shown(name[:_LONGEST]) for name in names]
    texts = [part.text() for part in parts]
    if len(set(texts)) == 1:
        return dict.fromkeys(names, same)
    common = next(
        (i for i, chars in enumerate(zip(*texts, strict=False)) if len(set(chars)) > 1),
        min(map(len, texts)),
    )
    head = parts[0].head
    # A template's name is told whole where it can be, of a plain name the beginning is enough.
    head = middle(head, width // 2) if len(head) <= common else head[: width // 3]
    room = width - len(head) - 1
    if room < 4:
        return dict.fromkeys(names, same)
    last = min(map(len, texts)) - room  # from there on the end fits
    word = 1 + max(texts[0].rfind(sign, 0, common) for sign in "<, _")
    start = max(word, common - room // 2, len(head))
    start = min(start, max(last, len(head)))
    return {
        name: f"{head}{ELLIPSIS}{cut(text[start:], room)}"
        for name, text in zip(names, texts, strict=True)
    }


def first_difference(name: str, other: str) -> tuple[str, str] | None:
    """The first words in which template arguments differ; ``None`` where the head does, or none."""
    words = (re.finditer(r"\w+", one[:_LONGEST]) for one in (name, other))
    differing = ((a, b) for a, b in zip(*words, strict=False) if a[0] != b[0])
    one, another = next(differing, (None, None))
    inside = one and another and one.start() > name.find("<") > 0
    return (one[0], another[0]) if inside and one and another else None


# Endings that compilers add and that differ between builds of the same kernel.
_ENDINGS = (
    _ENCODED,
    re.compile(r"_(?:\d+(?:de?|c))+$"),  # Triton: argument specialisations, _0d1d2de3c
    re.compile(r"[_.](?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}$"),  # a hash
)
_NUMBERED = re.compile(r"^(triton_(?:poi|per|red|tem|for|mm)_?\w*?|cudapy::.*?)_\d+$")
# Words that say nothing about which kernel it is.
_EMPTY_WORDS = {"kernel", "kernels", "cuda", "gpu", "device", "global", "void", "fused", "triton"}
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def build_name(name: str) -> str:
    """The name that two builds of one kernel share.

    Template arguments, parameters, Triton's specialisation suffix, Inductor's and Numba's serial
    numbers and hashes are dropped; the namespace stays.
    """
    full = qualified_name(name)
    for ending in _ENDINGS:
        full = ending.sub("", full)
    numbered = _NUMBERED.match(full)
    return numbered.group(1) if numbered else full


def similarity(one: str, other: str) -> float:
    """How alike two build names are, 0 to 1, by their telling words; the same both ways round."""
    words = ([w.lower() for w in _WORDS.findall(name[:_COMPARED])] for name in (one, other))
    telling = (" ".join(w for w in found if w not in _EMPTY_WORDS) for found in words)
    first, second = sorted(telling)
    if not first or not second:
        return 0.0
    return SequenceMatcher(None, first, second, autojunk=False).ratio()
