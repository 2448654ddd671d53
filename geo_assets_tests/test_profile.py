"""Profiles: inheritance, overrides, and one clear line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from geo_assets.errors import ProfileError
from geo_assets.profile import built_in_profiles, fingerprint, load_profile, recipe_values
from geo_assets.settings import EvalPhotos


def write(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_defaults_are_the_pods_values(tmp_path: Path) -> None:
    settings = load_profile(write(tmp_path, "{}"), {})
    train = settings.train
    assert (train.lora.r, train.lora.alpha, train.learning_rate, train.max_steps) == (32, 64, 1e-5, 1200)
    assert (train.generation_batch_size, train.num_generations, train.max_grad_norm) == (64, 8, 0.2)
    assert (settings.task.max_cells, settings.task.min_cells) == (1024, 256)
    assert settings.name == "mine"


def test_extends_merges_key_by_key(tmp_path: Path) -> None:
    write(tmp_path, "train: {max_steps: 10, learning_rate: 1e-4, lora: {r: 8}}", "parent.yaml")
    child = write(tmp_path, "extends: parent.yaml\ntrain: {max_steps: 20, lora: {alpha: 16}}")
    train = load_profile(child, {}).train
    assert (train.max_steps, train.learning_rate, train.lora.r, train.lora.alpha) == (20, 1e-4, 8, 16)


def test_extends_a_built_in_profile(tmp_path: Path) -> None:
    child = write(tmp_path, "extends: demo\ntrain: {max_steps: 7}")
    demo = load_profile("demo", {})
    mine = load_profile(child, {})
    assert mine.train.max_steps == 7
    assert mine.osv_zips == demo.osv_zips


@pytest.mark.parametrize("name", built_in_profiles())
def test_built_in_profiles_load(name: str) -> None:
    assert load_profile(name, {}).name == name


def test_environment_overrides(tmp_path: Path) -> None:
    environment = {
        "GEO_PROFILE": write(tmp_path, "train: {max_steps: 10}"),
        "GEO_TRAIN__MAX_STEPS": "20",
        "GEO_TRAIN__LEARNING_RATE": "1e-5",
        "GEO_TRAIN__LORA__R": "4",
        "GEO_TRAIN_POOL__LIMIT": "null",
        "GEO_HOME": "/elsewhere",
        "UNRELATED": "1",
    }
    settings = load_profile(None, environment)
    assert settings.train.max_steps == 20
    assert settings.train.learning_rate == 1e-5
    assert settings.train.lora.r == 4
    assert settings.train_pool.limit is None


@pytest.mark.parametrize(
    ("text", "environment", "message"),
    [
        ("train: {max_step: 10}", {}, "unknown key 'train.max_step'; did you mean 'max_steps'?"),
        ("trian: {max_steps: 10}", {}, "unknown key 'trian'; did you mean 'train'?"),
        ("train: {lora: {rank: 8}}", {}, "unknown key 'train.lora.rank'"),
        ("train: {max_steps: many}", {}, "train.max_steps = 'many'"),
        ("train: {max_steps: 0}", {}, "greater than or equal to 1"),
        ("{}", {"GEO_TRAIN__MAX_STEP": "3"}, "did you mean 'max_steps'?"),
        ("{}", {"GEO_TRAINMAX": "3"}, "unknown key 'trainmax'; did you mean 'train'?"),
        ("- a list", {}, "holds no sections"),
        ("train: {max_steps: 10", {}, "cannot be read"),
        ("extends: mine.yaml", {}, "extends itself"),
        ("extends: podd", {}, "unknown profile 'podd'"),
    ],
)
def test_mistakes_are_one_line_with_the_remedy(
    tmp_path: Path, text: str, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(ProfileError) as raised:
        load_profile(write(tmp_path, text), environment)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_unknown_profile_names_the_nearest() -> None:
    with pytest.raises(ProfileError, match="unknown profile 'dema'; did you mean 'demo'"):
        load_profile("dema", {})


def test_missing_file_is_named() -> None:
    with pytest.raises(ProfileError, match=r"/no/such\.yaml does not exist"):
        load_profile("/no/such.yaml", {})


def test_a_bare_off_is_a_word(tmp_path: Path) -> None:
    assert load_profile(write(tmp_path, "pano_source: {source: off}"), {}).pano_source.source == "off"
    assert load_profile("demo", {"GEO_PANO_SOURCE__SOURCE": "off"}).pano_source.source == "off"


def test_a_tilde_is_the_home_folder(tmp_path: Path) -> None:
    settings = load_profile(write(tmp_path, "eval_photos: {folder: ~/photos}"), {})
    assert settings.eval_photos.folder == Path.home() / "photos"


def test_a_path_counts_by_what_lies_there(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "a.jpg").write_bytes(b"1")
    before = recipe_values(EvalPhotos(folder=photos))
    moved = tmp_path / "moved"
    photos.rename(moved)
    assert recipe_values(EvalPhotos(folder=moved)) == before
    (moved / "b.jpg").write_bytes(b"2")
    assert recipe_values(EvalPhotos(folder=moved)) != before


def test_fingerprint_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="does not exist"):
        fingerprint(tmp_path / "absent")


def test_an_artifact_counts_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"content": "0123456789abcdef", "created": "today"}')
    (tmp_path / "file").write_bytes(b"1")
    assert fingerprint(tmp_path) == "0123456789abcdef"
    (tmp_path / "manifest.json").write_text("{")
    assert fingerprint(tmp_path) != "0123456789abcdef"


def test_a_mode_without_its_answers_is_one_line() -> None:
    with pytest.raises(ProfileError, match="mode own needs answers; name the folder"):
        load_profile("demo", {"GEO_WARM_START__MODE": "own"})
