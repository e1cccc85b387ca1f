"""Where submissions run. `Sandbox` is the grader's end; walls.py has the walls, child.py runs inside them."""

from gradlab.grading.sandbox.client import Child, Reply, Sandbox, SandboxError, isolation

__all__ = ["Child", "Reply", "Sandbox", "SandboxError", "isolation"]
