"""`ModelSpec`: what a decoder holds, computes and remembers, as a handful of multiplications."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike

from hwlab.formula import maximum, minimum, real
from hwlab.specs.models.parts import Matmul, Part, Reach
from hwlab.units import bytes_per_element

__all__ = ["ModelSpec", "experts_touched"]

_MERGED = ("pair_flop", "absorbed_flop", "expand_flop", "kv_elements", "index_elements")


def experts_touched(num_experts, experts_per_token, tokens):
    """Expected number of distinct experts that `tokens` tokens choose in one layer.

    Each token picks `experts_per_token` different ones of `num_experts`, evenly and independently of the
    others. Real routers are uneven, so they touch fewer.

    Parameters
    ----------
    num_experts, experts_per_token, tokens : number, array or Sym

    Raises
    ------
    ValueError
        If a token would pick more experts than there are.

    Notes
    -----
    A given expert is missed by one token with probability 1 - k/E, by n tokens with (1 - k/E)^n.

    Examples
    --------
    DeepSeek-V3 routes each token to 8 of 256 experts; a batch of 64 wakes most of them:

    >>> [round(experts_touched(256, 8, tokens)) for tokens in (1, 8, 64, 256)]
    [8, 57, 222, 256]
    """
    if type(num_experts) is int and type(experts_per_token) is int and not 0 < experts_per_token <= num_experts:
        raise ValueError(
            f"experts_per_token is {experts_per_token!r}; give a number from 1 to num_experts, {num_experts}"
        )
    tokens = _counted("tokens", tokens)
    return num_experts * (1 - (1 - experts_per_token / num_experts) ** tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """One decoder-only language model: its shape, and from it parameters, FLOP and bytes.

    Counts are of the text decoder: no vision or audio tower, no multi-token-prediction layers. Whatever the
    configuration left open and the reader had to take for granted stands in `assumptions`. Arguments named
    `tokens`, `new_tokens`, `context` and `head_tokens` may be numbers, NumPy or JAX arrays, or traced `Sym` values;
    a plain number below 0 is a ValueError.

    Quantised weights: for a `dtype` under 16 bits an element, the matrices of attention, recurrence, MLP and
    experts take that dtype with its scales, while embeddings, the output head, routers, norms, biases and
    convolutions stay at 16 bits, as published checkpoints do. `kept_kinds` names further kinds of matrices
    that this model's own configuration keeps at 16 bits.

    Attributes
    ----------
    id, name : str
        Catalogue id and display name.
    architecture : str
        The configuration's `model_type`.
    num_layers, hidden_size, vocab_size : int
    num_heads, num_kv_heads, head_dim : int
        Of the attention layers; 0 in a model without attention. Where layers differ, those of full attention.
    intermediate_size : int
        Width of the dense feed-forward block, or of one expert where every layer is routed.
    num_experts, experts_per_token : int
        Routed experts of a layer and how many a token uses; 0 in a dense model.
    tied_embeddings : bool
        Whether the output head is the embedding table.
    max_context_tokens : int or None
        None: the configuration does not say.
    weight_dtype : str or None
        In which the weights are published.
    published : Mapping
        Of a catalogue model: `source`, `hub` name, `params` and `active_params` as published, `rounded`, `note`.
    num_params, num_active_params : int
        Embeddings included; active leaves out the experts that a token does not visit. Some cards leave out the
        embedding table as well: subtract `num_embedding_params` to compare.
    num_embedding_params : int
        The input table, learned positions included; also the output head where that is tied.
    state_bytes : int
        Recurrent state of one sequence, whatever its length.
    quantised_flop_per_token : float
        FLOP of one token in the matrices that take `dtype`; the rest of `flop` stays at 16 bits.

    Examples
    --------
    >>> spec = ModelSpec.from_config({
    ...     "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    ...     "num_attention_heads": 32, "vocab_size": 32000, "tie_word_embeddings": False})
    >>> spec.num_params, spec.kv_bytes_per_token("bf16")
    (6738415616, 524288)
    """

    id: str = ""
    name: str = ""
    architecture: str
    num_layers: int
    hidden_size: int
    vocab_size: int
    num_heads: int = 0
    num_kv_heads: int = 0
    head_dim: int = 0
    intermediate_size: int
    num_experts: int = 0
    experts_per_token: int = 0
    tied_embeddings: bool
    max_context_tokens: int | None = None
    position_rows: int = 0  # learned position embeddings
    weight_dtype: str | None = None
    kept_kinds: frozenset[str] = field(default=frozenset(), repr=False)
    body: Part = field(repr=False)  # every layer and the final norm; not the embeddings, not the head
    head_vectors: int = field(default=0, repr=False)
    assumptions: tuple[str, ...] = ()
    published: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)

    num_params: int = field(init=False)
    num_embedding_params: int = field(init=False)
    num_active_params: int = field(init=False)
    state_bytes: int = field(init=False)
    quantised_flop_per_token: float = field(init=False, repr=False)
    reaches: tuple[Reach, ...] = field(init=False, repr=False)
    _quantised_dense: int = field(init=False, repr=False)
    _quantised_expert: int = field(init=False, repr=False)
    _kept_read: float = field(init=False, repr=False)
    _kept_expert: int = field(init=False, repr=False)
    _token_flop: float = field(init=False, repr=False)
    _head_flop: float = field(init=False, repr=False)

    def __post_init__(self):
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        kept = self.kept_kinds | {"router"}
        held = {True: 0, False: 0}  # expert matrices or not, stored parameters that can be quantised
        kept_dense, kept_expert = self.body.vectors + self.head_vectors, self.body.expert_vectors
        flop, quantised_flop = self.body.scan_flop, 0
        for m in self.body.matmuls:
            params, expert = m.k * m.n * m.stored, m.kind == "expert"
            flop += 2 * m.k * m.n * m.count
            if m.kind not in kept:
                held[expert] += params
                quantised_flop += 2 * m.k * m.n * m.count
            elif expert:
                kept_expert += params
            else:
                kept_dense += params
        head = self.vocab_size * self.hidden_size
        table = (self.vocab_size + self.position_rows) * self.hidden_size
        experts = held[True] + kept_expert
        total = table + (0 if self.tied_embeddings else head) + held[False] + kept_dense + experts
        idle = experts - experts * self.experts_per_token // self.num_experts if self.num_experts else 0
        put("num_params", total)
        put("num_embedding_params", table)
        put("num_active_params", total - idle)
        put("_quantised_dense", held[False])
        put("_quantised_expert", held[True])
        put("_kept_read", float(kept_dense + head))
        put("_kept_expert", kept_expert)
        # floats, for JAX reads a Python integer as 32 bits; exact below 2**53
        put("_token_flop", float(flop))
        put("_head_flop", 2.0 * head)
        put("quantised_flop_per_token", float(quantised_flop))
        put("state_bytes", self.body.state_bytes)
        merged: dict[tuple, Reach] = {}
        for reach in self.body.reaches:
            seen = merged.get(reach.key)
            sums = {n: getattr(reach, n) + (getattr(seen, n) if seen else 0.0) for n in _MERGED}
            limit, stride, chunked, keeps_all, _ = reach.key
            merged[reach.key] = Reach(limit=limit, stride=stride, chunked=chunked, keeps_all=keeps_all, **sums)
        put("reaches", tuple(merged.values()))

    def __hash__(self):
        return hash((self.id, self.architecture, self.num_params, self.num_active_params))

    @classmethod
    def from_config(
        cls, config: str | PathLike | Mapping, *, id: str = "", name: str = "", assume: str | None = None
    ) -> ModelSpec:
        """Read a Hugging Face ``config.json``.

        Parameters
        ----------
        config : path, dict or JSON text
            A file, a folder that holds ``config.json``, the parsed object, or its text.
        id, name : str
            How to call the model; by default the architecture.
        assume : {"llama"}, optional
            Read an architecture that is not known as if it were Llama-like. Says so in `assumptions`.

        Raises
        ------
        ConfigError
            A field is missing, absurd or contradicts another; the model is no decoder; its architecture is
            unknown. The message names the field, its value and what would do.

        Notes
        -----
        An absent field means what the architecture's class in transformers 5.24.0 takes it for. Where that is the
        size of one particular model, the field must be given, or the value taken is stated in `assumptions`.
        A field that shapes a model in a way its reader does not know is an error.

        Examples
        --------
        >>> ModelSpec.from_config('{"model_type": "bert", "hidden_size": 768}')
        Traceback (most recent call last):
            ...
        hwlab.specs.models.config.ConfigError: model_type is 'bert'; an encoder-only model, which ...
        """
        from hwlab.specs.models.families import read

        return read(config, id=id, name=name, assume=assume)

    # --- weights ---------------------------------------------------------------------------------------------

    def matmuls(self) -> tuple[Matmul, ...]:
        """Every weight product of one forward pass; like ones are joined and counted.

        ``2 * k * n * count`` sums to the FLOP of one token but for attention scores; ``k * n * stored`` to the
        parameters but for embeddings, norms, biases and convolutions. A tied head is stored in the embedding
        table, hence `stored` 0.

        Examples
        --------
        >>> from hwlab.specs.models import model
        >>> sum(m.count for m in model("llama-2-70b").matmuls() if m.kind != "head")
        560
        """
        joined: dict[tuple, list[int]] = {}
        for m in self.body.matmuls:
            counts = joined.setdefault((m.name, m.k, m.n, m.kind), [0, 0])
            counts[0] += m.count
            counts[1] += m.stored
        rows = [Matmul(name, k, n, count, kind, stored) for (name, k, n, kind), (count, stored) in joined.items()]
        head = Matmul("lm_head", self.hidden_size, self.vocab_size, 1, "head", 0 if self.tied_embeddings else 1)
        return (*rows, head)

    def weight_bytes(self, dtype: str):
        """Bytes of all weights held in `dtype` (see the class for what stays at 16 bits).

        Examples
        --------
        >>> from hwlab.specs.models import model
        >>> m = model("llama-3.1-70b")
        >>> m.weight_bytes("bf16") == 2 * m.num_params, round(m.weight_bytes("fp8") / 1e9, 1)
        (True, 72.7)
        """
        size = bytes_per_element(dtype)
        quantised = self._quantised_dense + self._quantised_expert
        return _whole(quantised * size + (self.num_params - quantised) * max(size, 2))

    def weight_bytes_read(self, tokens, dtype: str):
        """Bytes of weights that one step of `tokens` tokens reads, each matrix once.

        Dense weights and the head in full; of the routed experts the expected distinct ones; of an embedding
        table that is not the head, one row a token.

        Examples
        --------
        >>> from hwlab.specs.models import model
        >>> m = model("deepseek-v3")
        >>> [round(m.weight_bytes_read(tokens, "fp8") / m.weight_bytes("fp8"), 2) for tokens in (1, 64)]
        [0.06, 0.87]
        """
        tokens, size = _counted("tokens", tokens), bytes_per_element(dtype)
        kept_size = max(size, 2)
        rows = self.hidden_size * (2 if self.position_rows else 1)
        read = self._quantised_dense * size + (self._kept_read + tokens * rows) * kept_size
        if self.num_experts:
            experts = self._quantised_expert * size + self._kept_expert * kept_size
            touched = experts_touched(self.num_experts, self.experts_per_token, tokens)
            read = read + experts * (touched / self.num_experts)
        return read

    # --- arithmetic ------------------------------------------------------------------------------------------

    def flop_per_token(self, context):
        """FLOP of one token that attends to `context` tokens, itself included, output projection included.

        Examples
        --------
        >>> from hwlab.specs.models import model
        >>> m = model("llama-2-70b")
        >>> round(m.flop_per_token(1) / m.num_params, 3)  # 2 a parameter, less the embedding table
        1.992
        """
        context = _counted("context", context)
        flop = self._token_flop + self._head_flop
        for reach in self.reaches:
            attended = reach.attended(context)
            if reach.absorbed_flop:
                expanded = reach.pair_flop * attended + reach.expand_flop * maximum(context - 1, 0)
                flop = flop + minimum(reach.absorbed_flop * attended, expanded)
            else:
                flop = flop + reach.pair_flop * attended
        return flop

    def flop(self, new_tokens, context=0, head_tokens=None):
        """FLOP of one pass over `new_tokens` tokens of a sequence after `context` cached ones, causally exact.

        Parameters
        ----------
        new_tokens, context : number, array or Sym
        head_tokens : number, array or Sym, optional
            Tokens whose logits are computed; all new ones by default. A prompt needs one.

        Notes
        -----
        Latent attention takes the cheaper of its two orders for the pass as a whole, so a prompt cut into
        chunks can cost more than the prompt at once.

        Examples
        --------
        Attention adds little to 2NT at a thousand tokens:

        >>> from hwlab.specs.models import model
        >>> m = model("llama-2-70b")
        >>> round(m.flop(1024) / (2 * m.num_params * 1024), 2)
        1.01
        """
        new_tokens, context = real(_counted("new_tokens", new_tokens), _counted("context", context))
        heads = new_tokens if head_tokens is None else _counted("head_tokens", head_tokens)
        flop = self._token_flop * new_tokens + self._head_flop * heads
        for reach in self.reaches:
            flop = flop + reach.flop(new_tokens, context)
        return flop

    # --- memory of the past ----------------------------------------------------------------------------------

    def kv_bytes_per_token(self, dtype: str):
        """Bytes of keys and values (or latents) that one more token adds, before any window is full.

        A whole number wherever `dtype` makes whole bytes of them; where several tokens share a cached entry, their
        average. Keys of a sparse-attention indexer are apart: `index_bytes_per_token`.

        Examples
        --------
        >>> from hwlab.specs.models import model
        >>> model("llama-3.1-70b").kv_bytes_per_token("bf16"), model("deepseek-v3").kv_bytes_per_token("bf16")
        (327680, 70272)
        """
        return _whole(sum(r.kv_elements / r.stride for r in self.reaches) * bytes_per_element(dtype))

    def index_bytes_per_token(self, dtype: str):
        """Bytes that one more token adds to the key cache of a sparse-attention indexer; 0 without one.

        Examples
        --------
        >>> from hwlab.specs.models import model
        >>> model("deepseek-v3").index_bytes_per_token("fp8")
        0
        """
        return _whole(sum(r.index_elements / r.stride for r in self.reaches) * bytes_per_element(dtype))

    def kv_bytes(self, tokens, dtype: str):
        """Bytes that one sequence of `tokens` tokens holds: what its layers must keep, and its recurrent state.

        Windows and chunks keep no more than their length, which is the least an engine can do: one that
        pages all layers alike holds more. Indexer keys are included, and so is `state_bytes`, which does not
        grow and does not take `dtype`.

        Examples
        --------
        gpt-oss looks back 128 tokens in every second layer:

        >>> from hwlab.specs.models import model
        >>> m = model("gpt-oss-20b")
        >>> m.kv_bytes(128, "bf16") / 128, (m.kv_bytes(8192, "bf16") - m.kv_bytes(4096, "bf16")) / 4096
        (49152.0, 24576.0)
        """
        tokens, size = _counted("tokens", tokens), bytes_per_element(dtype)
        kept = float(self.state_bytes)
        for reach in self.reaches:
            kept = kept + (reach.kv_elements + reach.index_elements) * size * reach.kept(tokens)
        return kept

    def kv_bytes_read(self, context, dtype: str):
        """Bytes of cache and state that one token at position `context` reads.

        Less than `kv_bytes` where a layer keeps more than it attends to (sparse and chunked attention).

        Examples
        --------
        >>> from hwlab.specs.models import model
        >>> m = model("llama-3.1-8b")
        >>> m.kv_bytes_read(4096, "bf16") / 2**20  # 2 x 32 layers x 8 heads x 128 x 4096 x 2 bytes
        512.0
        """
        context, size = _counted("context", context), bytes_per_element(dtype)
        read = float(self.state_bytes)
        for reach in self.reaches:
            read = read + reach.kv_elements * size * reach.attended(context)
            if reach.index_elements:
                read = read + reach.index_elements * size * reach.kept(context)
        return read

    def kv_capacity_tokens(self, budget_bytes: float, dtype: str) -> int | None:
        """Most tokens of one sequence whose `kv_bytes` fit in `budget_bytes`; None if any number does.

        Raises
        ------
        ValueError
            If the budget does not even hold the recurrent state, or is not a finite number.

        Examples
        --------
        >>> from hwlab.specs.models import model
        >>> model("llama-3.1-8b").kv_capacity_tokens(2**30, "bf16")
        8192
        """
        if not math.isfinite(budget_bytes) or budget_bytes < self.state_bytes:
            raise ValueError(
                f"budget_bytes is {budget_bytes!r}; {self.name or self.architecture} needs a finite number of at "
                f"least {self.state_bytes} for the recurrent state of one sequence"
            )
        if not any(r.limit is None or r.keeps_all for r in self.reaches):
            longest = max((r.limit for r in self.reaches), default=0)
            if self.kv_bytes(longest, dtype) <= budget_bytes:
                return None
        low, high = 0, 1
        while self.kv_bytes(high, dtype) <= budget_bytes:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.kv_bytes(middle, dtype) <= budget_bytes else (low, middle)
        return low


def _counted(name, tokens):
    """`tokens`, in floating point if an array; a plain number may be 0 but neither below nor NaN."""
    if (type(tokens) is int or type(tokens) is float) and not tokens >= 0:
        raise ValueError(f"{name} is {tokens!r}; give a number of at least 0")
    return real(tokens)


def _whole(x):
    return int(x) if x == int(x) else x
