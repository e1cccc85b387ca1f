"""What gradlab's own metadata says it needs, and the line that installs what is not there."""

import importlib.metadata
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass

CORE = "core"


@dataclass(frozen=True)
class Need:
    """A package with the bounds that are tested, such as ``Need("numpy", ">=2")``."""

    name: str
    bounds: str

    @property
    def installed(self) -> str | None:
        """The version that is installed; None where it is not."""
        try:
            return importlib.metadata.version(self.name)
        except importlib.metadata.PackageNotFoundError:
            return None

    @property
    def tested(self) -> bool:
        """Whether the installed version is within the bounds; True where the package `packaging` is not there to tell.

        >>> Need("numpy", ">=2").tested, Need("numpy", "<1").tested
        (True, False)
        """
        try:
            from packaging.specifiers import SpecifierSet
        except ImportError:
            return True
        return SpecifierSet(self.bounds).contains(self.installed or "0", prereleases=True)


def needs(extra: str = CORE) -> list[Need]:
    """The packages that gradlab itself needs, or those of an extra.

    >>> [need.name for need in needs()]
    ['graphviz', 'graphviz-pure', 'numpy']
    """
    found = []
    for line in importlib.metadata.requires("gradlab") or ():
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        wanted = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
        parts = re.fullmatch(r"([\w.-]+)(\[.*\])?\s*(.*)", requirement)
        if parts and (wanted[1] if wanted else CORE) == extra:
            found.append(Need(parts[1], parts[3]))
    return sorted(found, key=lambda need: need.name)


def install_line(wanted: Iterable[Need]) -> str:
    """The command that installs them into this Python. It names the packages, so it is right for a clone and a wheel.

    >>> install_line([Need("torch", "==2.13.*")]).partition(" -m ")[2]
    'pip install "torch==2.13.*"'
    """
    return f"{sys.executable} -m pip install " + " ".join(f'"{need.name}{need.bounds}"' for need in wanted)
