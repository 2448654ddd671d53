"""Make a CUDA build of torchvision importable beside a CPU build of torch.

torchvision's compiled library then cannot be loaded, and `import torchvision` fails because two operators
have no schema. Image processors use none of them, so the schemas alone suffice. runbook/cpu_twin.sh installs
this file with a .pth line, so that processes which vLLM starts have it too.
"""

import sys


class _BeforeTorchvision:
    """Defines the schemas once, when torchvision is first imported."""

    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            if torch.version.cuda is None and torch.version.hip is None:
                library = torch.library.Library("torchvision", "FRAGMENT")
                library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
                library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
                torch._torchvision_shim = library  # the schemas live as long as this object
        return None


if not any(isinstance(finder, _BeforeTorchvision) for finder in sys.meta_path):
    sys.meta_path.insert(0, _BeforeTorchvision())
