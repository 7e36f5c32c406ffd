"""The rules for names in scripts: which identifiers and attributes may be used, and through which guard.

The transformer applies them to names in the source, the guards to names given as strings, such as those of `getattr`. A
script can use no name that begins *and* ends with an underscore: such names belong to the guards (`_getattr_`) or to
Python (`__class__`).
"""

from __future__ import annotations

import enum
import types
from typing import Final

__all__ = ["MODULE", "Access", "Refused", "access", "check_identifier"]

MODULE: Final = "script"
"""`__module__` of a script's classes: a name that no module of ours has."""


class Refused(Exception):
    """A script may not use this name; the message says what to write instead."""


class Access(enum.Enum):
    """The guard through which an attribute is read."""

    PUBLIC = "_getattr_"
    PRIVATE = "_private_"
    SPECIAL = "_special_"
    PROTOCOL = "_protocol_"


_METHODS: Final = (
    "init post_init getattr repr str bytes format bool hash call enter exit "
    "eq ne lt le gt ge "
    "len length_hint iter next reversed contains getitem setitem delitem missing "
    "int float complex index round trunc floor ceil pos neg abs invert "
    "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor matmul "
    "radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand ror rxor rmatmul "
    "iadd isub imul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor imatmul"
)
DEFINABLE: Final = frozenset(f"__{name}__" for name in _METHODS.split())
"""Dunder methods that a script's class may define. This excludes those that change class creation, attribute lookup,
pickling or finalisation: __new__, __getattribute__, __setattr__, __class__, __reduce__, __del__, __slots__ …"""

PROTOCOL: Final = DEFINABLE - {"__getattr__"}
"""Dunder methods that a script may read (`super().__init__()`) from its own objects and from Python's, never from this
package's."""

TEXTS: Final = frozenset({"__name__", "__qualname__", "__doc__", "__members__"})
"""Dunder attributes that a script may read from any object."""

OF_CLASS: Final = frozenset({"__name__", "__qualname__"})
"""Attributes that may be read from `x.__class__`, which itself may not be read: scripts write
`error.__class__.__name__`."""

_KINDS = (
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
)
_PREFIXES = ("f_", "co_", "tb_", "gi_", "cr_", "ag_")
_NEWER = {
    "f_generator",
    "gi_state",
    "cr_state",
    "ag_state",
    "gi_suspended",
    "cr_suspended",
    "ag_suspended",
    "cr_origin",
}

INTROSPECTION: Final = (
    frozenset(n for k in _KINDS for n in dir(k) if n.startswith(_PREFIXES))
    | _NEWER
    | {
        *("mro", "_abc_impl", "_abc_caches_clear", "_abc_registry_clear", "_dump_registry"),
        *("_is_protocol", "_is_runtime_protocol"),
    }
)
"""Attributes that lead from a generator or traceback to frames, and from a class to its bases, and the metaclasses'
data on a class. `_dump_registry` writes to the process's standard output; a class with the flag `_is_runtime_protocol`
makes `isinstance` ask any object for any name.

Attack: a script writes `del A._abc_impl` on its abstract class, whose `register` then fills that of its shared base.
"""

SPECIAL: Final = frozenset({"format", "format_map", "obj", "register", "__members__"})
"""Names that are dangerous on one type each (str, AttributeError, ABCMeta, Enum). A guard checks the type when a script
reads them."""

_ADVICE: Final = {
    "__class__": "use type(x)",
    "__dict__": "use vars(x), x.to_dict() of a Kubernetes object, or dataclasses.asdict(x)",
    "__slots__": "drop it, or use @dataclass(slots=True)",
    "__new__": "use __init__, or a function that returns the object",
    "__traceback__": "use str(error); the lines are reported when the script fails",
    "__annotations__": "use dataclasses.fields(x)",
    "__builtins__": "call the builtin by its name",
    "__import__": "use an import statement",
    "__file__": "the script is not a file",
    "__setattr__": "assign the attribute, or use setattr(x, name, value)",
    "__getattribute__": "define __getattr__, or use getattr(x, name)",
    "__mro__": "use isinstance or issubclass",
    "__bases__": "use isinstance or issubclass",
    "__subclasses__": "keep the classes in a list of your own",
    "__main__": "the script itself is the main program",
    "mro": "use isinstance or issubclass",
    "_abc_impl": "use isinstance or issubclass",
}


def check_identifier(name: str, *, store: bool = True) -> None:
    """Raises Refused unless a script may use this variable, parameter, function, class or alias name."""
    if not name.startswith("_") or name in {"_", "__"} or name in DEFINABLE:
        return
    if name == "__doc__" or (name == "__name__" and not store):
        return
    if name.startswith("__") and name.endswith("__"):
        advice = _ADVICE.get(name, "scripts use no double-underscore names")
        raise Refused(f"the name `{name}` is not available: {advice}")
    if name.startswith("__"):
        raise Refused(f"the name `{name}` begins with two underscores: write `_{name.lstrip('_')}`")
    if name.endswith("_"):
        raise Refused(f"the name `{name}` begins and ends with an underscore: write `{name.rstrip('_')}`")


def access(name: str, *, store: bool = False) -> Access:
    """Returns the guard for an attribute of this name. Raises Refused when no guard permits it."""
    if name in INTROSPECTION:
        advice = _ADVICE.get(name, "scripts cannot inspect frames or code")
        raise Refused(f"the attribute `{name}` is not available: {advice}")
    if name in SPECIAL and not (store and name in TEXTS):
        return Access.SPECIAL
    if not name.startswith("_"):
        return Access.PUBLIC
    if name in TEXTS and not store:
        return Access.PUBLIC
    if name in PROTOCOL and not store:
        return Access.PROTOCOL
    if name.startswith("__") and name.endswith("__"):
        general = "define it in the class" if store else "only the usual protocol methods can be read"
        advice = _ADVICE.get(name, general)
        raise Refused(f"the attribute `{name}` is not available: {advice}")
    if name.startswith("__"):
        raise Refused(f"the attribute `{name}` begins with two underscores: write `_{name.lstrip('_')}`")
    if name.endswith("_"):
        raise Refused(f"the attribute `{name}` begins and ends with an underscore: use a public one")
    return Access.PRIVATE
