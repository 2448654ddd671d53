"""Print the digest of what requirements.lock is made from, so that a test sees when it changes.

It covers the dependencies and the extras pod and wandb of pyproject.toml, in order.
"""

import hashlib
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
lines = [project["requires-python"], *sorted(project["dependencies"] + extras["pod"] + extras["wandb"])]
print(hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16])
