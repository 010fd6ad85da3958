"""Start `transformers serve`, with a known delay before each token if one is planted.

    python serve.py --plant-ms MS -- serve MODEL --host HOST --port PORT
"""

import functools
import sys
import time

from transformers import LlamaForCausalLM
from transformers.cli.transformers import main


def plant(seconds: float) -> None:
    """Make each forward pass of the model wait."""
    forward = LlamaForCausalLM.forward

    @functools.wraps(forward)  # generate() reads the signature
    def delayed(self, *args, **kwargs):
        time.sleep(seconds)
        return forward(self, *args, **kwargs)

    LlamaForCausalLM.forward = delayed


if len(sys.argv) < 4 or sys.argv[1] != "--plant-ms" or sys.argv[3] != "--":
    sys.exit(__doc__)
milliseconds = float(sys.argv[2])
if milliseconds > 0:
    plant(milliseconds / 1000)
sys.argv = ["transformers", *sys.argv[4:]]
main()
