"""The claims of chapter 2: what a matrix product is, what it costs, who worked it out, and what binds it."""

from __future__ import annotations

from hwlab.formula import number, si
from hwlab.specs.chips import chip
from hwlab.specs.claims import claim
from hwlab.specs.models import model as model_of
from hwlab.specs.papers import papers
from hwlab.studies.flop_shares import attention_overtakes, attention_share, mamba_block, resnet50, transformer
from hwlab.studies.trials import Finding, claimed, judged, judged_by_choice, near, trial
from hwlab.units import bytes_per_element

LLAMA_2_70B = model_of("llama-2-70b")
XEON = chip("xeon-8480plus")
CHINCHILLA = "hoffmann-2022"
PROMPT_TOKENS, LONG_TOKENS = 1024, 131_072
ABOUT = 0.05  # what "about" allows
DOMINATES = 0.9  # share from which one part dominates a whole


def layer_products(model):
    """The products with weights in one layer, each name once."""
    return [product for product in model.matmuls() if product.kind != "head"]


def weight_products(model) -> int:
    """How often one forward pass multiplies by a layer's weights."""
    return sum(product.count for product in layer_products(model))


def all_products(model) -> int:
    """The same with the two products of attention in each layer, and the head."""
    return weight_products(model) + 2 * model.num_layers + 1


def gemm_intensity(size: int, dtype: str) -> float:
    """FLOP a byte of a square product when each matrix crosses once."""
    return 2 * size**3 / (3 * size**2 * bytes_per_element(dtype))


def ridges(chip, dtype: str) -> tuple[float, float]:
    """Lowest and highest ridge of a chip, over the peaks on record for it."""
    figure = chip.figure(f"peak_flop_per_s.{dtype}")
    peaks = [figure.value, *(rival.value for rival in figure.rivals)]
    return min(peaks) / chip.memory_bytes_per_s, max(peaks) / chip.memory_bytes_per_s


@trial("C003")
def share_of_flop(model=LLAMA_2_70B, tokens=PROMPT_TOKENS, image=None, block=None) -> Finding:
    """Matrix products dominate a Transformer, a convolutional network and a state-space model alike."""
    shares = {
        f"{model.name}, {tokens:,} tokens": transformer(model, tokens).share,
        "ResNet-50": (image or resnet50()).share,
        "Mamba block, 2,560 wide": (block or mamba_block(2560)).share,
    }
    told = "; ".join(f"{name}: {number(100 * share, 4)} %" for name, share in shares.items())
    return Finding(recomputed=f"{told} of the FLOP", verdict=judged(min(shares.values()) > DOMINATES))


@trial("C004")
def weights_against_activations(model=LLAMA_2_70B, lengths=(PROMPT_TOKENS, LONG_TOKENS)) -> Finding:
    """The dominant product is always one with weights."""
    shares = [attention_share(model, tokens) for tokens in lengths]
    ratios = [share / (1 - share) for share in shares]
    told = "; ".join(f"{number(100 * r)} % at {n:,} tokens" for r, n in zip(ratios, lengths, strict=True))
    return Finding(
        recomputed=f"Attention against weights: {told}; equal at {number(round(attention_overtakes(model), -3))}",
        verdict=judged_by_choice(*(ratio < 1 for ratio in ratios)),
    )


@trial("C005")
def where_products_occur(model=LLAMA_2_70B) -> Finding:
    """In the projections of attention and in each MLP, for every token."""
    attention, mlp = ([p for p in layer_products(model) if p.kind == kind] for kind in ("attention", "mlp"))
    everywhere = all(p.count == model.num_layers for p in attention + mlp)
    return Finding(
        recomputed=f"{len(attention)} in attention and {len(mlp)} in the MLP, in each of {model.num_layers} layers",
        verdict=judged(everywhere and len(attention) >= 4 and len(mlp) > 0),
    )


@trial("C006")
def products_in_a_pass(model=LLAMA_2_70B) -> Finding:
    """A forward pass performs hundreds of products."""
    few, many = weight_products(model), all_products(model)
    return Finding(
        recomputed=f"{few:,} products with weights; {many:,} with attention and head",
        verdict=judged(few >= 200 and many < 1000),
    )


@trial("C007")
def smallest_matrix(model=LLAMA_2_70B) -> Finding:
    """The matrices are 8192 x 8192 or larger."""
    side = int(claim("C007").figures[0].split(" × ")[0])
    products = layer_products(model)
    smaller = [p for p in products if min(p.k, p.n) < side]
    least = min(products, key=lambda p: p.k * p.n)
    told = f"Smallest: {least.k:,} × {least.n:,}; {len(smaller)} of {len(products)} a layer are smaller than claimed"
    return Finding(recomputed=told, verdict=judged(not smaller))


@trial("C008")
def two_flop_per_parameter(model=LLAMA_2_70B, tokens=PROMPT_TOKENS) -> Finding:
    """A forward pass costs about 2NT."""
    rule, counted = 2 * model.num_params * tokens, model.flop(tokens)
    told = f"2NT = {si(rule, 'FLOP')} for {tokens:,} tokens; counted product by product {si(counted, 'FLOP')}"
    return Finding(recomputed=told, verdict=judged(near(counted, rule, within=ABOUT)))


@trial("C009")
def prefill_flop(model=LLAMA_2_70B, tokens=PROMPT_TOKENS) -> Finding:
    """A 70B model with a prompt of 1,024 tokens needs about 1.4e14 FLOP."""
    counted = model.flop(tokens)
    told = f"{si(counted, 'FLOP')}, {si(counted - model.flop_per_token(0) * tokens, 'FLOP')} of it in attention"
    return Finding(recomputed=told, verdict=judged(near(counted, claimed("C009"), within=ABOUT)))


def first_to_state(relation: str, known):
    """The earliest paper on record that gives `relation` and takes it from no other."""
    return min((p for p in known if relation in p.states and relation not in p.credits), key=lambda p: p.date)


@trial("C013")
def who_related_training_flop(known=None) -> Finding:
    """Hoffmann et al. established the relation between training FLOP and parameters."""
    first = first_to_state("training-flop", known or papers())
    told = f"{first.short}, {first.states['training-flop']}"
    return Finding(recomputed=told, verdict=judged(first.id == CHINCHILLA))


@trial("C014")
def who_derived_two_nt(known=None) -> Finding:
    """2NT comes directly from the Chinchilla paper."""
    first = first_to_state("forward-flop", known or papers())
    told = f"{first.short}, {first.states['forward-flop']}"
    return Finding(recomputed=told, verdict=judged(first.id == CHINCHILLA))


@trial("C015")
def citation_of_hoffmann(known=None) -> Finding:
    """Hoffmann et al., Training Compute-Optimal Large Language Models, DeepMind, 2022."""
    found = next(p for p in known or papers() if p.id == CHINCHILLA)
    sentence = claim("C015").sentence
    parts = (found.authors[0], found.title, found.organisation, str(found.date.year))
    matching = [part for part in parts if part in sentence]
    told = f"{found.short}, {found.organisation}, “{found.title}”: {len(matching)} of {len(parts)} parts match"
    return Finding(recomputed=told, verdict=judged(len(matching) == len(parts)))


@trial("C021")
def two_limits_of_a_cpu(chip=XEON, size=4096, dtype="fp32") -> Finding:
    """A large product on a CPU meets low intensity and low parallelism."""
    intensity, (low, high) = gemm_intensity(size, dtype), ridges(chip, dtype)
    told = f"{number(intensity)} FLOP/byte at n = {size:,}, ridge {_range(low, high)}: only the peak binds"
    if intensity < high:
        told = f"{number(intensity)} FLOP/byte at n = {size:,}, ridge {_range(low, high)}: both can bind"
    return Finding(recomputed=told, verdict=judged(intensity < high))


@trial("C022")
def intensity_grows_with_size(intensity=gemm_intensity, sizes=(1024, 4096, 16384)) -> Finding:
    """The intensity of a square product is O(n)."""
    slopes = [intensity(n, "fp32") / n for n in sizes]
    told = ", ".join(f"{number(intensity(4096, dtype))} in {dtype}" for dtype in ("fp32", "bf16"))
    return Finding(
        recomputed=f"n/{number(1 / slopes[0])} FLOP/byte in fp32; at n = 4,096 {told}",
        verdict=judged(max(slopes) <= min(slopes) * (1 + 1e-9)),
    )


@trial("C024")
def memory_before_cores(chip=XEON, size=4096, dtype="fp32") -> Finding:
    """Memory bandwidth binds before the cores of a CPU are busy."""
    intensity, (low, high) = gemm_intensity(size, dtype), ridges(chip, dtype)
    told = f"{number(intensity)} FLOP/byte at n = {size:,} against a ridge of {_range(low, high)}"
    return Finding(recomputed=told, verdict=judged(intensity < low))


@trial("C105")
def one_product_for_a_prompt(model=LLAMA_2_70B) -> Finding:
    """A prompt can be processed in one matrix product."""
    weights, attention = weight_products(model), 2 * model.num_layers
    told = f"One pass of {weights:,} products with weights and {attention:,} of attention"
    return Finding(recomputed=told, verdict=judged(weights + attention == claimed("C105")))


def _range(low: float, high: float) -> str:
    return number(low) if low == high else f"{number(low, 2)} to {number(high, 2)}"
