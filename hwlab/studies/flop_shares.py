"""How much of a forward pass is matrix products: a Transformer, a convolutional network, a state-space block.

Counted from the shapes of the layers. A convolution counts as the matrix product that it becomes when its windows are
laid out as rows (im2col): that is how the libraries compute it (Chetlur et al., cuDNN, arXiv:1410.0759).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlopShare:
    """FLOP in matrix products, and all others."""

    matmul_flop: float
    other_flop: float

    @property
    def share(self) -> float:
        """Of the whole, in matrix products."""
        return self.matmul_flop / (self.matmul_flop + self.other_flop)


def transformer(model, tokens: int) -> FlopShare:
    """One forward pass over a prompt of `tokens`, of a dense decoder with gated MLPs and rotary positions.

    Parameters
    ----------
    model : ModelSpec
    tokens : int

    Notes
    -----
    Beside the products, per token and layer: two root-mean-square norms at 4 FLOP an element, two residual sums, the
    rotation of queries and keys at 3, the gate (sigmoid linear unit and product) at 6; for each score that the causal
    mask leaves, 5 for scale, maximum, exponential, sum and division.
    """
    query_width, kv_width = model.num_heads * model.head_dim, model.num_kv_heads * model.head_dim
    elementwise = 2 * 4 * model.hidden_size + 2 * model.hidden_size + 3 * (query_width + kv_width)
    elementwise += 6 * model.intermediate_size
    scores = model.num_heads * tokens * (tokens + 1) / 2
    other = model.num_layers * (tokens * elementwise + 5 * scores) + tokens * 4 * model.hidden_size
    return FlopShare(model.flop(tokens), other)


def resnet50(image: int = 224) -> FlopShare:
    """One image through ResNet-50 (stride in the 3 x 3 convolutions, as the libraries ship it).

    Notes
    -----
    He et al., "Deep Residual Learning for Image Recognition", arXiv:1512.03385, table 1. Beside the products: 2 FLOP
    for each output of a convolution (batch normalisation, folded into scale and shift), 1 for each rectified one, 1
    for each residual sum, 9 comparisons for each output of the first pooling, 1 addition for each input of the last.

    Examples
    --------
    Torchvision documents 4.09 billion multiply-adds for one image:

    >>> round(resnet50().matmul_flop / 2 / 1e9, 2)
    4.09
    """
    products = other = 0

    def convolve(size, channels_in, channels_out, kernel, stride=1, rectified=True):
        nonlocal products, other
        size //= stride
        products += 2 * size**2 * channels_out * channels_in * kernel**2
        other += size**2 * channels_out * (3 if rectified else 2)
        return size

    size = convolve(image, 3, 64, kernel=7, stride=2) // 2
    other += 9 * size**2 * 64  # pooling 3 x 3
    channels = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and width > 64 else 1
            convolve(size, channels, width, kernel=1)
            after = convolve(size, width, width, kernel=3, stride=stride)
            convolve(after, width, 4 * width, kernel=1, rectified=False)
            if block == 0:
                convolve(size, channels, 4 * width, kernel=1, stride=stride, rectified=False)
            size, channels = after, 4 * width
            other += 2 * size**2 * channels  # residual sum, rectified
    other += size**2 * channels  # mean over the image
    products += 2 * channels * 1000
    return FlopShare(products, other)


def mamba_block(width: int, state: int = 16, conv: int = 4) -> FlopShare:
    """One token through one Mamba block.

    Parameters
    ----------
    width : int
        Of the model; inside, the block is twice as wide.
    state : int
        Elements of state a channel.
    conv : int
        Taps of the causal convolution.

    Notes
    -----
    Gu and Dao, "Mamba", arXiv:2312.00752, and the published block (github.com/state-spaces/mamba): products into
    2 x 2 width, into step, B and C, from the step of width/16, and out. Beside them: the convolution; the selective
    scan at 9 FLOP an element of state, the count that the authors give (issue 110 of that repository); 2 a channel for
    the skip, 6 for the gate and 5 each for two more activations; norm and residual at 5 an element.

    Examples
    --------
    The 2.8-billion-parameter model is 2,560 wide:

    >>> round(mamba_block(2560).share, 3)
    0.989
    """
    inner, rank = 2 * width, width // 16
    products = 2 * (width * 2 * inner + inner * (rank + 2 * state) + rank * inner + inner * width)
    other = inner * (2 * conv + 9 * state + 2 + 6 + 2 * 5) + 5 * width
    return FlopShare(products, other)


def attention_share(model, tokens) -> float:
    """Share of a prompt's FLOP that goes into products of activations with activations."""
    weights = tokens * model.flop_per_token(0)
    return 1 - weights / model.flop(tokens)


def attention_overtakes(model) -> float:
    """Length of the prompt at which attention takes as many FLOP of a forward pass as the weights.

    Raises
    ------
    ValueError
        If it never does: with sliding windows or without attention.

    Examples
    --------
    >>> from hwlab.specs.models import model
    >>> round(attention_overtakes(model("llama-2-70b")), -2)
    104800.0
    """
    low, high = 1.0, 2.0**40
    if attention_share(model, high) < 0.5:
        raise ValueError(f"the attention of {model.name} never takes as many FLOP as its weights")
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if attention_share(model, middle) < 0.5 else (low, middle)
    return high
