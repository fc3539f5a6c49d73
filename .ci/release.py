"""A release, made and tried: the wheel and the sdist, each in empty environments, with the oldest and newest libraries.

    python .ci/release.py                 build into dist/, try both on every Python from 3.11 on that is here
    python .ci/release.py --tests         and pass the everyday tests with the oldest and with the newest dependencies
    python .ci/release.py --tag v0.2.0    and refuse a tag that isn't the version

It needs uv (`pip install uv`) and network, and ends with status 1 and what is wrong at the first fault. The tests take
minutes for each of the two sets of dependencies, and show what they do. Pythons of pyenv are found where they are
named: PYENV_VERSION=3.11.7:3.12.1:3.13.0 python .ci/release.py
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
OUTSIDE = ("measure", "templates", "hardware_db", "model_db")
"""Folders that a wheel has inside `planner`."""
OLDEST = 11
"""The oldest Python 3 that setup.cfg allows."""


def run(*command: str | Path, cwd: Path = ROOT, is_shown: bool = False) -> str:
    """What a command prints; its failure ends the release. Settings of Python from outside don't reach it.

    `is_shown`: what it prints goes to the terminal as it comes, and nothing is returned.
    """
    print("$", *(str(word).replace(str(ROOT), ".") for word in command), flush=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        command, cwd=cwd, env=clean, text=True, stdout=None if is_shown else subprocess.PIPE, check=False
    )
    if done.returncode:
        sys.exit(f"{done.stdout or ''}\nIt failed, with status {done.returncode}.")
    return done.stdout or ""


def version(tag: str | None) -> str:
    """The version, which stands in planner/__init__.py alone; CHANGELOG begins with it, and so does the tag."""
    text = (ROOT / "planner/__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    section = next(re.finditer(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE))[1]
    if not re.fullmatch(rf"{re.escape(found)} - \d{{4}}-\d\d-\d\d", section):
        sys.exit(f"CHANGELOG.md begins with {section!r}; it must be '{found} - YYYY-MM-DD'.")
    if tag not in (None, f"v{found}"):
        sys.exit(f"the tag {tag} isn't v{found}, the version of planner/__init__.py.")
    return found


def built() -> list[Path]:
    """The wheel and the sdist, built anew, whose long description PyPI can show."""
    shutil.rmtree(DIST, ignore_errors=True)
    run("uv", "build", "-q", "--out-dir", DIST)
    files = [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]
    run("uvx", "twine", "check", "--strict", *files)
    return files


def check_contents(wheel: Path) -> None:
    """The wheel holds what git keeps of the package's folders, each file and no other."""
    kept = run("git", "ls-files", "planner", *OUTSIDE).split()
    wanted = {name if name.startswith("planner/") else f"planner/{name}" for name in kept} - {"planner/measure"}
    held = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wrong = [f"lacks {name}" for name in sorted(wanted - held)] + [f"also has {name}" for name in sorted(held - wanted)]
    if wrong:
        sys.exit("The wheel " + ", ".join(wrong))


def program(environment: Path, name: str) -> Path:
    """A program of an environment."""
    return environment / ("Scripts" if os.name == "nt" else "bin") / name


def try_out(package: Path, python: str) -> None:
    """Install a package alone into an empty environment, and do the README's first job in a folder elsewhere."""
    first = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)[0]
    words = first.strip().rpartition("&& .venv/bin/planner ")[2].split()
    with tempfile.TemporaryDirectory() as folder:
        run("uv", "venv", "-q", "--python", python, ".venv", cwd=Path(folder))
        run("uv", "pip", "install", "-q", "--python", ".venv", package, cwd=Path(folder))
        planner = program(Path(folder, ".venv"), "planner")
        print(run(planner, *words, cwd=Path(folder)), end="")
        run(planner, "check", "plan.xlsx", cwd=Path(folder))
        top = {each.name for each in Path(folder, ".venv").glob("[lL]ib/**/site-packages/*") if each.name == "measure"}
        if top:
            sys.exit("`measure` stands in site-packages beside `planner`.")


def pass_tests(resolution: str, python: str) -> None:
    """The everyday tests, in an environment of its own with the dependencies that `resolution` picks."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, ".venv")
        run("uv", "venv", "-q", "--seed", "--python", python, own)  # the tests of an installation call its pip
        run("uv", "pip", "install", "-q", "--python", own, "--resolution", resolution, "-e", ".[test]")
        tests = ("-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider")
        run(program(own, "python"), *tests, is_shown=True)


def pythons() -> dict[str, str]:
    """The Pythons from 3.11 on that are installed here, no previews: where each is, by `3.12` and in order."""
    listed = json.loads(run("uv", "python", "list", "--only-installed", "--output-format", "json"))
    found: dict[int, str] = {}
    for each in listed:
        version = re.fullmatch(r"3\.(\d+)\.\d+", each["version"])
        if (
            version
            and int(version[1]) >= OLDEST
            and (each["implementation"], each["variant"]) == ("cpython", "default")
        ):
            found.setdefault(int(version[1]), each["path"])
    if not found:
        sys.exit(f"uv finds no Python from 3.{OLDEST} on.")
    return {f"3.{minor}": found[minor] for minor in sorted(found)}


def main() -> None:
    """Make the release and try it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tag")
    options.add_argument("--tests", action="store_true")
    asked = options.parse_args()
    name = version(asked.tag)
    packages = built()
    check_contents(packages[0])
    found = pythons()
    for python in found.values():
        for package in packages:
            try_out(package, python)
    if asked.tests:
        pass_tests("lowest-direct", next(iter(found.values())))
        pass_tests("highest", list(found.values())[-1])
    print(f"{name} is ready in dist/, tried on Python {', '.join(found)}.")


if __name__ == "__main__":
    main()
