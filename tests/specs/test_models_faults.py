"""Faulty configurations: an error that names the field, or the right answer; never another error, never a wrong number.

Every field of every configuration is spoilt in every way below; then Hypothesis spoils several at once.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwlab.specs.models import ConfigError, ModelSpec

DATA = Path(__file__).parents[1] / "data" / "hf_configs"
CONFIGS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.json"))}
REFUSED = {"bert-base-uncased", "kimi-k3", "whisper-large-v3"}
SPOILT = [-1, 10**12, 10**5000, "4096", 3.5, float("nan"), [], {"a": 1}]


def facts(spec: ModelSpec) -> tuple:
    """Everything a user asks of a model, save what it assumes."""
    return (
        spec.num_params,
        spec.num_active_params,
        *(spec.flop(tokens, context) for tokens, context in ((1, 0), (1000, 0), (1, 9000))),
        *(spec.kv_bytes(tokens, "bf16") for tokens in (1, 500, 9000)),
        *(spec.weight_bytes(dtype) for dtype in ("bf16", "mxfp4")),
        spec.weight_bytes_read(3, "fp8"),
        *(spec.num_layers, spec.hidden_size, spec.num_heads, spec.num_kv_heads, spec.head_dim, spec.vocab_size),
    )


SPECS = {id: ModelSpec.from_config(CONFIGS[id]) for id in CONFIGS if id not in REFUSED}
FACTS = {id: facts(spec) for id, spec in SPECS.items()}


def fields(config: dict, path: tuple = ()):
    """The path of every field, nested ones included."""
    for name, value in config.items():
        yield (*path, name)
        if isinstance(value, dict):
            yield from fields(value, (*path, name))


def spoil(config: dict, path: tuple, value=None, drop: bool = False) -> dict:
    name, *rest = path
    if rest:
        return {**config, name: spoil(config[name], tuple(rest), value, drop)}
    return {n: v for n, v in config.items() if n != name} if drop else {**config, name: value}


def outcome(config: dict):
    """The spec, or the error; any other exception fails the test."""
    try:
        return ModelSpec.from_config(config)
    except ConfigError as error:
        assert error.field and error.field in str(error)
        return error


@pytest.mark.parametrize("id", SPECS)
def test_an_impossible_value_is_named_or_does_not_matter(id):
    wrong = []
    for path in fields(CONFIGS[id]):
        for value in SPOILT:
            if path[-1] == "modules_to_not_convert" and value == []:
                continue  # a possible value: nothing is left out of quantisation
            got = outcome(spoil(CONFIGS[id], path, value))
            named = isinstance(got, ConfigError) and path[-1] in str(got)
            if not named and not (isinstance(got, ModelSpec) and facts(got) == FACTS[id]):
                wrong.append((path, type(value), str(got)))
    assert not wrong


# What the absence of a field says in its architecture; otherwise it is an error, or an assumption is stated.
ABSENT = {
    "attention_bias": False,
    "use_qk_norm": False,
    "sliding_window": None,
    "modules_to_not_convert": [],
    "head_dim": lambda config: config["hidden_size"] // config["num_attention_heads"],
}
NULL = {
    "q_lora_rank": "not compressed",
    "attention_chunk_size": "no chunks",
    "sliding_window": "no window",
    "head_dim": "hidden_size / num_attention_heads",
    "quantization_config": "not quantised",
    "modules_to_not_convert": "all quantised",
}


@pytest.mark.parametrize("id", SPECS)
def test_an_absent_field_is_named_or_assumed_or_has_its_usual_meaning(id):
    wrong = []
    for path in fields(CONFIGS[id]):
        got, name = outcome(spoil(CONFIGS[id], path, drop=True)), path[-1]
        if isinstance(got, ConfigError):
            right = name in str(got) or (name == "text_config" and got.field == "hidden_size")
        elif facts(got) == FACTS[id] or any(name in said for said in got.assumptions):
            right = True
        elif name == "quantization_config":
            right = got.weight_dtype != SPECS[id].weight_dtype and got.num_params == SPECS[id].num_params
        else:
            usual = ABSENT[name]
            value = usual(CONFIGS[id]) if callable(usual) else usual
            right = facts(got) == facts(ModelSpec.from_config(spoil(CONFIGS[id], path, value)))
        if not right:
            wrong.append((path, str(got)))
    assert not wrong


@pytest.mark.parametrize("id", SPECS)
def test_null_is_named_or_assumed_or_has_its_own_meaning(id):
    wrong = []
    for path in fields(CONFIGS[id]):
        got, name = outcome(spoil(CONFIGS[id], path, None)), path[-1]
        if isinstance(got, ConfigError):
            right = name in str(got) or (name == "text_config" and got.field == "hidden_size")
        else:
            right = facts(got) == FACTS[id] or name in NULL or any(name in said for said in got.assumptions)
        if not right:
            wrong.append((path, str(got)))
    assert not wrong


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(0, 64),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.one_of(st.integers(0, 5), st.text(max_size=3)), max_size=4),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)
PATHS = {id: list(fields(config)) for id, config in CONFIGS.items()}


@st.composite
def spoilt(draw):
    """A configuration with one to four fields dropped, replaced by junk, or borrowed from another configuration."""
    config = CONFIGS[draw(st.sampled_from(sorted(CONFIGS)))]
    for _ in range(draw(st.integers(1, 4))):
        paths = list(fields(config))
        if not paths:
            break
        path, how = draw(st.sampled_from(paths)), draw(st.sampled_from(("drop", "junk", "borrow")))
        if how == "drop":
            config = spoil(config, path, drop=True)
        elif how == "junk":
            config = spoil(config, path, draw(JUNK))
        else:
            other = CONFIGS[draw(st.sampled_from(sorted(CONFIGS)))]
            name = draw(st.sampled_from(sorted(other)))
            config = {**config, name: other[name]}
    return config


@settings(max_examples=400, deadline=None)
@given(config=spoilt())
def test_however_spoilt_a_configuration_gives_a_spec_that_adds_up_or_an_error_that_names_a_field(config):
    spec = outcome(config)
    if isinstance(spec, ModelSpec):
        assert 0 < spec.num_active_params <= spec.num_params <= 10**15
        assert spec.num_embedding_params <= spec.num_params
        assert 0 < spec.flop_per_token(1) <= spec.flop_per_token(5) < spec.flop(5)
        assert spec.state_bytes <= spec.kv_bytes(1, "bf16") <= spec.kv_bytes(9, "bf16")
        assert 0 < spec.weight_bytes("mxfp4") < spec.weight_bytes("bf16") == 2 * spec.num_params
        assert json.loads(json.dumps(spec.assumptions)) == list(spec.assumptions)


@settings(max_examples=100, deadline=None)
@given(config=st.one_of(JUNK, st.binary(max_size=9), st.text(max_size=40), st.text(max_size=30).map("{{{}".format)))
def test_what_is_no_configuration_is_an_error_of_the_same_kind(config):
    assert isinstance(outcome(config), ConfigError)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 4097}, "head_dim is missing; give it, for hidden_size 4097 is no multiple of .* 32"),
        ({"num_key_value_heads": 5}, "num_key_value_heads is 5; give a divisor of the 32 heads"),
        ({"head_dim": 0}, "head_dim is 0; give a whole number from 1"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000; give a whole number from 1 to 10000"),
        ({"vocab_size": "32000"}, "vocab_size is '32000'; give a whole number"),
        ({"intermediate_size": float("nan")}, "intermediate_size is nan; give a whole number"),
        ({"intermediate_size": None}, "intermediate_size is null; give a whole number"),
        ({"hidden_size": True}, "hidden_size is True; give a whole number"),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings is 'false'; give true or false"),
        ({"n_layer": 31}, "n_layer is 31; but num_hidden_layers is 32 and both name the same thing"),
    ],
)
def test_messages_say_what_was_wrong_what_came_and_what_would_do(changes, message):
    with pytest.raises(ConfigError, match=message):
        ModelSpec.from_config(CONFIGS["llama-3.1-8b"] | changes)


def test_a_list_of_layers_has_one_entry_a_layer_and_known_names():
    gpt_oss = CONFIGS["gpt-oss-20b"]
    with pytest.raises(ConfigError, match="layer_types is a list of 23; give a list of 24 entries"):
        ModelSpec.from_config(gpt_oss | {"layer_types": gpt_oss["layer_types"][1:]})
    with pytest.raises(ConfigError, match="its entry 'windowed' is none of full_attention, sliding_attention"):
        ModelSpec.from_config(gpt_oss | {"layer_types": ["windowed"] * 24})


def test_a_token_cannot_use_more_experts_than_there_are():
    with pytest.raises(ConfigError, match="num_experts_per_tok is 9; a token cannot use more experts than the 8"):
        ModelSpec.from_config(CONFIGS["mixtral-8x7b"] | {"num_experts_per_tok": 9})


def test_a_missing_file_and_text_that_is_no_object_are_said_to_be_so(tmp_path):
    for config, message in {
        str(tmp_path / "nothing.json"): "which cannot be read",
        "[1, 2]": "config is a JSON list",
        '{"hidden_size": ': "config is not JSON",
        "[" * 100_000: "config is not JSON",
        "x" * 10_000: "which cannot be read",
    }.items():
        with pytest.raises(ConfigError, match=message):
            ModelSpec.from_config(config)
    with pytest.raises(ConfigError, match="config is a int; give a path, a dict or JSON text"):
        ModelSpec.from_config(3)
