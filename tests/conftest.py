"""What all tests share: one thread, the `long` option, and no silent skip of a browser or sandbox test in CI."""

import os

import pytest

from tests.browser.fixtures import browser, jupyter, open_notebook

__all__ = ["browser", "jupyter", "open_notebook"]

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")
NEEDED_IN_CI = ("browser", "sandbox")


def pytest_addoption(parser):
    parser.addoption(
        "--long",
        choices=("short", "full"),
        help="also run the tests marked `long`: a short slice of each, or all of it (hours)",
    )
    parser.addoption("--pictures", action="store_true", help="write the README's screenshots anew (into .github/)")


def pytest_collection_modifyitems(config, items):
    """Leave out the long tests without --long, and nbgrader's own run without GRADLAB_NBGRADER (a Python that has it).

    With several processes (`-n`) one of them has the browser, and one has all grading: those tests share runs, and look for
    processes that a run left behind.
    """
    absent = [] if config.getoption("--long") else ["long"]
    absent += [] if "GRADLAB_NBGRADER" in os.environ else ["nbgrader"]
    left_out = [item for item in items if any(mark in item.keywords for mark in absent)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        if "browser" in item.keywords or item.path.parent.name == "grading":
            item.add_marker(pytest.mark.xdist_group("browser" if "browser" in item.keywords else "grading"))


@pytest.fixture(autouse=True)
def seeded():
    """The same random numbers for a test in whatever order and process it runs."""
    import torch  # only now: the number of threads must be set before

    import gradlab

    gradlab.manual_seed(0)
    torch.manual_seed(0)


@pytest.fixture
def pictures(request, tmp_path):
    """The folder for screenshots: the README's own with --pictures, else a temporary one."""
    return request.config.rootpath / ".github" if request.config.getoption("--pictures") else tmp_path


@pytest.fixture
def long_slice(request):
    """The share of a long test to run: 1.0 for --long=full, 0.02 for --long=short and for tests that are not long."""
    return 1.0 if request.config.getoption("--long") == "full" else 0.02


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    needed = [name for name in NEEDED_IN_CI if name in item.keywords]
    if IN_CI and needed and report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"A {needed[0]} test may not be skipped in CI. {reason}"
