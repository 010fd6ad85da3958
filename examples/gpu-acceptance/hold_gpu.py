"""Compute on the first GPU until killed; print a line once it does."""

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
a = torch.randn(2048, 2048, device=device)
print((a @ a).sum().item(), flush=True)
while True:
    a = torch.nn.functional.normalize(a @ a)
