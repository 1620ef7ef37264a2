"""Decode steps of the engine on one core, for one sequence and for many: the shipped pair, and SmolLM2 where it is.

Beside SmolLM2 runs llama.cpp, where it is installed (``pip install llama-cpp-python``): the same weights in float32, a
cache in float32 with as much room, the same prompts, one thread on the same core, turn by turn with the engine.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import Row
from hwlab.kernels.checkpoints import PACKAGES

BATCHES, TURNS = (1, 8, 32), 3
PROMPT, ROOM = (2, 3, 4, 5, 6, 7, 8), 128
"""Tokens behind the first one of each prompt, and tokens for which a sequence has room in the cache."""


def rows() -> Iterator[Row]:
    """Every model in processes of their own, pinned to one core."""
    yield from _rows("tiny-shakespeare", tokens=48)
    for name, (module, file, package) in PACKAGES.items():
        if found := find_spec(module):
            yield from _rows(name, tokens=12, target=True, file=Path(found.origin).with_name(file))
        else:
            yield Row(f"engine, {name}", f"not measured: the package {package} is not installed")


def _rows(name, tokens, *, target=False, file=None):
    peer = target and find_spec("llama_cpp") is not None
    with tempfile.TemporaryDirectory() as folder:
        wide = os.path.join(folder, "wide.gguf")
        if peer:
            _child("widen", str(file), wide)
        for batch in BATCHES:
            ours, theirs = [], []
            for _ in range(TURNS if target else 1):
                ours.append(_child("engine", name, batch, tokens))
                if peer:
                    theirs.append(_child("llama_cpp", wide, batch, tokens))
            yield _row(name, batch, ours, theirs, target)


def _row(name, batch, ours, theirs, target):
    """The quickest turn of each, bandwidth likewise."""
    seconds, bandwidth = min(turn["seconds"] for turn in ours), max(turn["bandwidth"] for turn in ours)
    share = ours[0]["weight_bytes"] / seconds / bandwidth
    goal, met, peer = "", None, ""
    if target:
        peer = "llama.cpp is not installed"
        if theirs:
            quickest = min(turn["seconds"] for turn in theirs)
            share_of_peer = ours[0]["weight_bytes"] / quickest / bandwidth
            peer = f"llama.cpp: {quickest * 1e3:.1f} ms, {share_of_peer:.2f} of read bandwidth"
        if batch == 1:
            goal, met = "> 0.8 of read bandwidth", share > 0.8
        else:
            goal, met = "less than llama.cpp", seconds < quickest if theirs else None
    return Row(
        f"engine, {name}, float32, one core, a step of {batch} sequence{'s' * (batch > 1)}",
        f"{seconds * 1e3:.2f} ms, weights at {share:.2f} of read bandwidth ({bandwidth / 1e9:.1f} GB/s)",
        goal,
        met,
        peer,
    )


def _child(what, *arguments):
    """Run a function of this file in a process of its own; what it finds."""
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.engine", what, *map(str, arguments)],
        env=os.environ | {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(child.stdout)


# --- in the child ------------------------------------------------------------------------------------------------


def engine(name: str, batch: int, tokens: int) -> dict[str, float]:
    """Seconds of a step in which all sequences decode, and what it reads. No answer ends before its last token."""
    from dataclasses import replace

    from hwlab.kernels.checkpoints import load_checkpoint
    from hwlab.serving import Engine

    model = replace(load_checkpoint(name), stop_ids=())
    engine = Engine(model, max_batch=batch, block_tokens=16, num_blocks=batch * ROOM // 16)
    engine.generate([[1 + row, *PROMPT] for row in range(batch)], max_new_tokens=tokens)
    steps = [s for s in engine.log if s.decode_sequences == batch and not s.prefill_tokens and not s.compiled]
    return {
        "seconds": median(s.seconds for s in steps),
        "weight_bytes": median(s.weight_bytes for s in steps),
        "bandwidth": _bandwidth(),
    }


def llama_cpp(path: str, batch: int, tokens: int) -> dict[str, float]:
    """The same of llama.cpp: a step is its pass over the batch and the likeliest token of each."""
    import llama_cpp as llama

    quiet = llama.llama_log_callback(lambda *_: None)  # held for as long as it may be called
    llama.llama_log_set(quiet, None)
    model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
    vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    options = llama.llama_context_default_params()
    options.n_ctx, options.n_seq_max = batch * ROOM, batch
    options.n_batch = options.n_ubatch = max(512, batch * (1 + len(PROMPT)))
    options.n_threads = options.n_threads_batch = 1
    options.kv_unified = True  # the quicker of its two ways
    options.type_k = options.type_v = 0  # float32
    context = llama.llama_init_from_model(model, options)

    def step(pieces, start):
        """Pass over some new tokens of each sequence; the likeliest behind each."""
        new = llama.llama_batch_init(sum(map(len, pieces)), 0, 1)
        for row, piece in enumerate(pieces):
            for i, token in enumerate(piece):
                at = new.n_tokens
                new.token[at], new.pos[at], new.n_seq_id[at], new.seq_id[at][0] = token, start + i, 1, row
                new.logits[at] = i == len(piece) - 1
                new.n_tokens = at + 1
        if code := llama.llama_decode(context, new):
            raise RuntimeError(f"llama_decode gave {code}")
        ends, at = [], -1
        for piece in pieces:
            at += len(piece)
            ends.append(int(np.ctypeslib.as_array(llama.llama_get_logits_ith(context, at), (vocab,)).argmax()))
        llama.llama_batch_free(new)
        return ends

    last, times = step([[1 + row, *PROMPT] for row in range(batch)], 0), []
    for done in range(tokens - 1):
        start = time.perf_counter()
        last = step([[token] for token in last], 1 + len(PROMPT) + done)
        times.append(time.perf_counter() - start)
    return {"seconds": median(times)}


def widen(source: str, target: str) -> None:
    """Write the weights of a GGUF file in float32, everything else as it was."""
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
    from gguf.quants import dequantize

    read = GGUFReader(source)
    write = GGUFWriter(target, str(read.get_field("general.architecture").contents()))
    for name, field in read.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        of = field.types[1] if field.types[0] == GGUFValueType.ARRAY else None
        write.add_key_value(name, field.contents(), field.types[0], of)
    for tensor in read.tensors:
        write.add_tensor(tensor.name, dequantize(tensor.data, tensor.tensor_type), raw_dtype=GGMLQuantizationType.F32)
    write.write_header_to_file()
    write.write_kv_data_to_file()
    write.write_tensors_to_file()
    write.close()


def _bandwidth():
    """Bytes a second in which an array far beyond the caches is summed, the best of five."""
    array, best = np.ones(32 * 2**20, np.float32), 9.0
    for _ in range(5):
        start = time.perf_counter()
        array.sum()
        best = min(best, time.perf_counter() - start)
    return array.nbytes / best


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    what, *arguments = sys.argv[1:]
    print(
        json.dumps(
            {f.__name__: f for f in (engine, llama_cpp, widen)}[what](
                *(int(a) if a.isdigit() else a for a in arguments)
            )
        )
    )
