"""pyproject.toml, environment.yml, constraints.txt and what is installed must name the same things."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
PINS = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
PYTHONS = ["3.11", "3.12", "3.13"]

# The first releases without CVE-2026-42557 (one click on a saved output runs commands), CVE-2026-44727 (stored
# script through /nbconvert) and CVE-2026-39378 (nbconvert reads files).
SAFE = {"jupyterlab": "4.5.7", "jupyter-server": "2.20.0", "nbconvert": "7.17.1"}


def dependencies(extra=None):
    lines = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    return {canonicalize_name(need.name): need for need in map(Requirement, lines)}


def pins_for(python):
    """{name: version} of the pins that hold on Linux for one Python."""
    here = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
    }
    return {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version
        for pin in PINS
        if pin.marker is None or pin.marker.evaluate(here)
    }


def test_environment_yml_has_the_names_and_ranges_of_pyproject():
    conda = [line for line in CONDA["dependencies"] if isinstance(line, str)]
    needs = [need for need in map(Requirement, conda[1:]) if need.name != "pip"]
    packages = {canonicalize_name(need.name): need.specifier for need in needs}
    assert packages == {name: need.specifier for name, need in dependencies().items()}


def test_environment_yml_serves_conda_and_binder():
    python, pip = CONDA["dependencies"][0], CONDA["dependencies"][-1]
    assert re.fullmatch(r"python=3\.\d+", python), "one minor version: repo2docker then starts from it"
    assert python.removeprefix("python=") in PYTHONS
    assert "pip" in CONDA["dependencies"]
    assert pip == {"pip": ["-e ."]}, "conda does not install the project itself"
    assert CONDA["channels"] == ["conda-forge", "nodefaults"]
    assert not any((ROOT / name).exists() for name in ("binder", ".binder")), "Binder would ignore the root file"


def test_post_build_can_be_run():
    assert (ROOT / "postBuild").stat().st_mode & 0o111
    assert (ROOT / "postBuild").read_text().startswith("#!/bin/bash\n")


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("extra", [None, "test", "mpi"])
def test_every_dependency_is_pinned_inside_its_range(python, extra):
    pins = pins_for(python)
    for name, need in dependencies(extra).items():
        assert name in pins, f"{name} has no pin for Python {python}"
        assert need.specifier.contains(pins[name]), f"{name} is pinned to {pins[name]}, outside {need.specifier}"


@pytest.mark.parametrize("python", PYTHONS)
def test_each_pin_is_one_exact_version(python):
    for pin in PINS:
        assert [spec.operator for spec in pin.specifier] == ["=="], pin
    names = [
        canonicalize_name(pin.name)
        for pin in PINS
        if pin.marker is None or pin.marker.evaluate({"python_version": python, "python_full_version": f"{python}.9"})
    ]
    assert len(names) == len(set(names)), "two pins for one package would fight"


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("python", PYTHONS)
def test_pins_are_at_or_above_the_security_fixes(name, python):
    assert Version(pins_for(python)[name]) >= Version(SAFE[name])


def test_constraints_record_no_address():
    text = (ROOT / "constraints.txt").read_text()
    assert not re.search(r"://|--index|--find-links|--hash", text)


def test_what_is_installed_is_inside_the_ranges():
    for extra in (None, "test"):
        for name, need in dependencies(extra).items():
            version = importlib.metadata.version(name)
            assert need.specifier.contains(version, prereleases=True), f"{name} {version} is not {need.specifier}"


def test_the_build_backend_is_pinned_too():
    """lab.py builds without isolation, so that --wheels needs no network and setuptools is the pinned one."""
    wanted = [
        Requirement(line) for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    ]
    assert [need.name for need in wanted] == ["setuptools"]
    assert wanted[0].specifier.contains(pins_for("3.11")["setuptools"])
