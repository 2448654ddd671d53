"""Let unsloth patch a model that sees on a machine without a GPU, to test plan B.

Unsloth's switch for machines without one leaves three things that ask for a GPU: the properties it prints,
pinned memory, and TRL's Triton kernels. runbook/unsloth_setup.sh installs this file with a .pth line where
there is no GPU, so that every process of a run has it. Speed and memory measured under it mean nothing.
"""

import os
import sys
from types import SimpleNamespace

os.environ.setdefault("UNSLOTH_ALLOW_CPU", "1")
os.environ.setdefault("UNSLOTH_DISABLE_PINNED_MEMORY", "1")
os.environ.setdefault("UNSLOTH_DISABLE_DOUBLE_BUFFER", "1")
os.environ.setdefault("UNSLOTH_COMPILE_DISABLE", "1")  # minutes on a CPU; works, see docs/log-pod.md
os.environ.setdefault("TRITON_INTERPRET", "1")


class _BeforeUnsloth:
    """Answers for a GPU once, when unsloth is first imported."""

    def find_spec(self, name, path=None, target=None):
        if name == "unsloth":
            sys.meta_path.remove(self)
            import torch

            none = SimpleNamespace(name="none", total_memory=1, major=8, minor=0, multi_processor_count=1)
            torch.cuda.get_device_properties = lambda *_, **__: none
        return None


sys.meta_path.insert(0, _BeforeUnsloth())
