"""The models that ship with the package."""

import re
import subprocess
import sys
import time

import pytest

from hwlab.specs.models import catalogue, model, models

ALL = models()


def test_the_catalogue_is_wide_and_its_ids_are_the_vendors_names_in_kebab_case():
    ids = [m.id for m in ALL]
    assert len(ids) == len(set(ids)) >= 40
    assert all(re.fullmatch(r"[a-z0-9]+([.-][a-z0-9]+)*", id) for id in ids)
    assert {"llama-3.1-70b", "llama-2-70b", "deepseek-v3", "qwen3-30b-a3b", "gpt-2", "mistral-7b-v0.1"} <= set(ids)
    assert len({m.architecture for m in ALL}) >= 35


@pytest.mark.parametrize("spec", ALL, ids=lambda m: m.id)
def test_each_total_is_the_published_one_or_within_its_rounding(spec):
    published = spec.published
    assert published["source"] and spec.name
    if not published.get("rounded"):
        assert spec.num_params == published["params"]
    elif "tower" in published.get("note", ""):
        assert 0.9 < spec.num_params / published["params"] < 1
    else:
        assert spec.num_params == pytest.approx(published["params"], rel=0.03)


@pytest.mark.parametrize("spec", [m for m in ALL if "active_params" in m.published], ids=lambda m: m.id)
def test_each_active_count_is_the_cards_rounding_with_or_without_embeddings(spec):
    # a card may leave out the embedding table, or the output head too, and rounds: 3B may stand for 3.3B
    active, table = spec.num_active_params, spec.num_embedding_params
    assert any(active - n * table == pytest.approx(spec.published["active_params"], rel=0.09) for n in (0, 1, 2))


def test_every_figure_of_a_dense_model_is_active():
    assert all(m.num_active_params == m.num_params for m in ALL if not m.num_experts)
    assert all(m.num_active_params < m.num_params for m in ALL if m.num_experts)


def test_an_unknown_id_names_the_nearest():
    for error in (ValueError, KeyError):
        with pytest.raises(error, match=r"no model 'deepseek-v33'; nearest are deepseek-v3, "):
            model("deepseek-v33")
    with pytest.raises(ValueError, match="no model 7; nearest are"):
        model(7)


def test_a_blank_line_inside_a_table_drops_nothing(tmp_path, monkeypatch):
    text = (catalogue.DATA / "models.toml").read_text(encoding="utf-8")
    spread = "".join(line + "\n" for line in text.splitlines(keepends=True))
    (tmp_path / "models.toml").write_text(spread, encoding="utf-8")
    caches = (catalogue._blocks, catalogue._sources, model)
    for cached in caches:
        cached.cache_clear()
    monkeypatch.setattr(catalogue, "DATA", tmp_path)
    try:
        assert models() == ALL
        assert [m.published for m in models()] == [m.published for m in ALL]
    finally:
        for cached in caches:
            cached.cache_clear()


def test_one_model_is_read_in_milliseconds():
    def seconds():
        catalogue._blocks.cache_clear()
        model.cache_clear()
        start = time.process_time()
        model("deepseek-v3")
        return time.process_time() - start

    assert min(seconds() for _ in range(5)) < 0.020


def test_reading_models_needs_no_numpy():
    code = (
        "import sys; from hwlab.specs.models import models; "
        "[m.flop(10) + m.kv_bytes(10, 'fp8') + m.weight_bytes_read(10, 'mxfp4') for m in models()]; "
        "sys.exit(len({'numpy', 'pandas', 'jax', 'altair'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
