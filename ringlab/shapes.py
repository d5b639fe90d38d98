"""The parameters of real networks, as (name, shape) in the order in which their models register them.

`SHAPES` maps a network's name to that tuple. Numbers of parameters (and of arrays): digits 17,226 (6), resnet18
11,689,512 (62), resnet18-cifar 11,173,962 (62), gpt2-small 124,439,808 (148), gpt2-medium 354,823,168 (292).
"""

from itertools import pairwise

from .model import LAYERS


def digits_network(layers=LAYERS):
    """The network of `rl.training.train`."""
    return tuple(
        entry
        for number, (inputs, outputs) in enumerate(pairwise(layers))
        for entry in ((f"layer{number}.weight", (inputs, outputs)), (f"layer{number}.bias", (outputs,)))
    )


def gpt2(width, layers, vocabulary=50257, positions=1024):
    """GPT-2 (Radford et al., 2019): the output layer shares the token embedding, so that counts once."""
    found: list = [("wte.weight", (vocabulary, width)), ("wpe.weight", (positions, width))]
    block = [
        ("ln_1", None, width),
        ("attn.c_attn", width, 3 * width),
        ("attn.c_proj", width, width),
        ("ln_2", None, width),
        ("mlp.c_fc", width, 4 * width),
        ("mlp.c_proj", 4 * width, width),
    ]
    for layer in range(layers):
        for name, inputs, outputs in block:
            shape = (outputs,) if inputs is None else (inputs, outputs)
            found += [(f"h.{layer}.{name}.weight", shape), (f"h.{layer}.{name}.bias", (outputs,))]
    return (*found, ("ln_f.weight", (width,)), ("ln_f.bias", (width,)))


def resnet18(classes=1000, stem=7):
    """ResNet-18 (He et al., 2015). With classes=10 and stem=3 the variant that is usual for 32 x 32 images."""
    found: list = [("conv1.weight", (64, 3, stem, stem)), *_norm("bn1", 64)]
    inputs = 64
    for stage, width in enumerate((64, 128, 256, 512), 1):
        for block in range(2):
            name = f"layer{stage}.{block}"
            found += [(f"{name}.conv1.weight", (width, inputs, 3, 3)), *_norm(f"{name}.bn1", width)]
            found += [(f"{name}.conv2.weight", (width, width, 3, 3)), *_norm(f"{name}.bn2", width)]
            if inputs != width:
                found += [(f"{name}.downsample.0.weight", (width, inputs, 1, 1))]
                found += _norm(f"{name}.downsample.1", width)
            inputs = width
    return (*found, ("fc.weight", (classes, 512)), ("fc.bias", (classes,)))


def _norm(name, width):
    return [(f"{name}.weight", (width,)), (f"{name}.bias", (width,))]


SHAPES = {
    "digits": digits_network(),
    "resnet18": resnet18(),
    "resnet18-cifar": resnet18(classes=10, stem=3),
    "gpt2-small": gpt2(width=768, layers=12),
    "gpt2-medium": gpt2(width=1024, layers=24),
}
