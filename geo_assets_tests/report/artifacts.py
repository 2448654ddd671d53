"""Made-up artifact directories with plausible numbers, so that the report is tested without a model.

`write_run` lays out everything the report reads, in the layout the assets write. A guess is right by a
skill per country that training raises for most countries and lowers for a few; wrong guesses land in a
look-alike; some answers are unparsed, cut off, or hostile. Seeded: the same scale gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image, ImageDraw

from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.score import geoscore
from geo_assets.task.metrics import Prediction, summarise
from geo_assets_tests.report.places import CLUES, COUNTRIES, DEMO, LOOKALIKES

HOSTILE = (
    '<think><script>alert("x")</script> signs | in <b>Latin</b> ```js\nalert(1)\n```'
    " [map](javascript:alert(2)) ![](https://example.invalid/x.png) \u202egnp.exe</think>"
)


@dataclass(frozen=True)
class Scale:
    """How large a made-up run is and what it lacks."""

    splits: dict[str, int] = field(
        default_factory=lambda: {"eval_osv": 1000, "eval_quick": 300, "eval_pano": 400}
    )
    countries: tuple[str, ...] = tuple(COUNTRIES)
    gain: float = 0.16
    samples: int = 4
    start_is_base: bool = True
    controls: bool = True
    steps: int = 1200
    save_steps: int = 200
    thumbs: bool = True
    on_cpu: bool = False
    seconds_per_step: float = 19.2
    hostile: float = 0.06
    seed: int = 1


DEMO_SCALE = Scale(
    splits={"eval_osv": 600, "eval_quick": 200, "eval_pano": 48},
    countries=DEMO,
    gain=0.3,
    samples=1,
    start_is_base=False,
    steps=70,
    save_steps=10,
    on_cpu=True,
    seconds_per_step=2.4,
)


def _rng(scale: Scale, *words: object) -> np.random.Generator:
    digest = hashlib.sha256("/".join(map(str, (scale.seed, *words))).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def _near(iso2: str, rng: np.random.Generator) -> tuple[float, float]:
    _, lat, lon, spread = COUNTRIES[iso2]
    return (
        float(np.clip(lat + rng.normal() * spread * 0.6, -89, 89)),
        float((lon + rng.normal() * spread * 0.8 + 180) % 360 - 180),
    )


def _truths(scale: Scale, split: str, n: int) -> list[dict]:
    """Rows of a split: ids, places, countries in turn."""
    source = "eval_osv" if split == "eval_quick" else split
    rng, rows = _rng(scale, "truth", source), []
    for i in range(n):
        iso2 = scale.countries[int(rng.integers(len(scale.countries)))]
        lat, lon = _near(iso2, rng)
        rows.append(
            {"id": f"{source[5:]}{i:05d}", "iso2": iso2, "lat": lat, "lon": lon, "luck": rng.random(3)}
        )
    return rows


def _skill(scale: Scale, iso2: str, who: str, decoding: str) -> float:
    rng = _rng(scale, "skill", iso2)
    skill = 0.35 + 0.4 * rng.random() - (0.1 if who == "base" and not scale.start_is_base else 0)
    shift = scale.gain * (1.4 * rng.random() if rng.random() < 0.85 else -0.6)
    if who == "policy":
        skill += shift * (0.6 if decoding == "sampled" else 1.0)
    return skill - (0.05 if decoding == "sampled" else 0.0)


def _guess(scale: Scale, row: dict, who: str, decoding: str, k: int) -> tuple[str, float, float] | None:
    """What this model says about this photo, or None for an answer without form."""
    rng = _rng(scale, row["id"], who, decoding, k)
    if rng.random() < {"base": 0.04, "start": 0.03, "policy": 0.012 if scale.gain else 0.03}[who]:
        return None
    luck = row["luck"][0] if decoding == "greedy" else 0.55 * row["luck"][0] + 0.45 * rng.random()
    if decoding in ("blank", "shuffled"):
        favourite = scale.countries[0 if decoding == "blank" else int(rng.integers(len(scale.countries)))]
        return favourite, *_near(favourite, rng)
    if luck < _skill(scale, row["iso2"], who, decoding):
        d_deg = math.exp(0.3 + 1.1 * (0.8 * (row["luck"][1] * 2 - 1) + 0.5 * rng.normal()))
        turn = rng.random() * 2 * math.pi
        lat = float(np.clip(row["lat"] + d_deg * math.sin(turn) * 0.8, -89, 89))
        return row["iso2"], lat, float((row["lon"] + d_deg * math.cos(turn) + 180) % 360 - 180)
    other = LOOKALIKES.get(row["iso2"], scale.countries[0])
    if rng.random() < 0.35:
        other = scale.countries[int(rng.integers(len(scale.countries)))]
    return other, *_near(other, rng)


def _prediction(scale: Scale, row: dict, who: str, decoding: str, k: int) -> Prediction:
    rng = _rng(scale, "words", row["id"], who, decoding, k)
    guess = _guess(scale, row, who, decoding, k)
    clues = "; ".join(rng.choice(CLUES, 3, replace=False))
    think = (
        f"<think>{clues}; so this looks like {COUNTRIES[guess[0]][0] if guess else 'somewhere else'}.</think>"
    )
    if rng.random() < scale.hostile:
        think = HOSTILE
    common = {
        "id": row["id"],
        "k": k,
        "true_latitude": row["lat"],
        "true_longitude": row["lon"],
        "true_country_iso2": row["iso2"],
        "true_region": None,
        "true_city": None,
        "n_tokens": int(rng.integers(40, 160)),
    }
    if guess is None:
        cut = bool(rng.random() < 0.5)
        return Prediction.from_json(
            {
                **common,
                "completion": think[:60] if cut else f"{think} I think it is Europe.",
                "country": None,
                "country_iso2": None,
                "lat_deg": None,
                "lon_deg": None,
                "parsed": False,
                "truncated": cut,
                "d_km": None,
                "geoscore": 0.0,
                "format": 0.0,
                "country_reward": 0.0,
                "dist": 0.0,
                "total": 0.0,
                "finish_reason": "length" if cut else "stop",
            }
        )
    iso2, lat, lon = guess
    name = COUNTRIES[iso2][0]
    d_km = float(haversine_km(row["lat"], row["lon"], lat, lon))
    right, dist = float(iso2 == row["iso2"]), 0.5 * math.exp(-d_km / 1492.7) + 0.5 * math.exp(-d_km / 250)
    answer = json.dumps({"country": name, "lat": round(lat, 2), "lon": round(lon, 2)})
    return Prediction.from_json(
        {
            **common,
            "completion": f"{think}\n<answer>{answer}</answer>",
            "country": name,
            "country_iso2": iso2,
            "lat_deg": round(lat, 2),
            "lon_deg": round(lon, 2),
            "parsed": True,
            "truncated": False,
            "d_km": d_km,
            "geoscore": float(geoscore(d_km)),
            "format": 1.0,
            "country_reward": right,
            "dist": dist,
            "total": 0.1 + 0.3 * right + 0.6 * dist,
            "finish_reason": "stop",
        }
    )


def _write_answers(folder: Path, predictions: list[Prediction]) -> dict:
    folder.mkdir(parents=True)
    lines = [p.to_json() for p in predictions]
    (folder / "predictions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    metrics = summarise(predictions, resamples=200)
    (folder / "metrics.json").write_text(json.dumps(metrics))
    return metrics


def _write_evaluation(out: Path, scale: Scale, whos: tuple[str, ...]) -> None:
    summary: dict = {} if "policy" in whos or "start" in whos else {"start": "same as base"}
    timings: dict = {}
    for who in whos:
        for split, n in scale.splits.items():
            rows = _truths(scale, split, n)
            kinds = {"greedy": 1, **({"sampled": scale.samples} if scale.samples else {})}
            if scale.controls and split == "eval_quick":
                kinds |= {"blank": 1, "shuffled": 1}
            for decoding, ks in kinds.items():
                answers = [_prediction(scale, row, who, decoding, k) for row in rows for k in range(ks)]
                metrics = _write_answers(out / who / split / decoding, answers)
                timings.setdefault(who, {})[f"{split}/{decoding}"] = 0.12 * len(answers)
                summary.setdefault(who, {}).setdefault(split, {})[decoding] = metrics
    (out / "summary.json").write_text(json.dumps(summary))
    (out / "timings.json").write_text(json.dumps(timings))


def draw_photo(seed: int, size: tuple[int, int] = (320, 240)) -> Image.Image:
    """A road, a sky and a sign: enough of a street scene to look at."""
    rng = np.random.default_rng(seed)
    width, height = size
    sky, ground = (tuple(int(v) for v in rng.integers(low, high, 3)) for low, high in ((150, 235), (70, 170)))
    photo = Image.new("RGB", size, sky)
    draw = ImageDraw.Draw(photo)
    draw.rectangle((0, height * 0.55, width, height), fill=ground)
    draw.polygon(
        [(width * 0.48, height * 0.55), (width * 0.52, height * 0.55), (width, height), (0, height)], "#555"
    )
    draw.line([(width / 2, height * 0.57), (width / 2, height)], "#eec628" if seed % 2 else "#fff", 4)
    for _ in range(4):
        x, y = rng.random() * width, height * (0.3 + 0.2 * rng.random())
        draw.ellipse((x - 22, y - 30, x + 22, y + 30), fill=tuple(int(v) for v in rng.integers(30, 120, 3)))
    return photo


def _write_thumbs(out: Path, scale: Scale) -> None:
    for split, n in scale.splits.items():
        folder = out / "thumbs" / split
        folder.mkdir(parents=True)
        for i, row in enumerate(_truths(scale, split, n)):
            draw_photo(i % 40).save(folder / f"{row['id']}.jpg", quality=70)


def _write_leaks(out: Path, scale: Scale) -> None:
    (out / "leaks").mkdir()
    for split, n in scale.splits.items():
        rng = _rng(scale, "leaks", split)
        frame = pl.DataFrame(
            {
                "id": [row["id"] for row in _truths(scale, split, n)],
                "same_creator": rng.random(n) < 0.18,
                "nearest_train_km": np.exp(rng.normal(2.6, 1.5, n)),
            }
        )
        frame.write_parquet(out / "leaks" / f"{split}.parquet")


def _log_history(scale: Scale) -> list[dict]:
    rng, records = _rng(scale, "log"), []
    for step in range(1, scale.steps + 1):
        done = 1 - math.exp(-3 * step / scale.steps)
        noise = rng.normal(0, 0.03, 6)
        records.append(
            {
                "step": step,
                "reward": 0.42 + 0.13 * done + noise[0],
                "reward_std": 0.22 - 0.05 * done + noise[1] / 4,
                "rewards/total_reward/mean": 0.42 + 0.13 * done + noise[0],
                "rewards/format_reward/mean": min(1.0, 0.96 + 0.03 * done + noise[2] / 5),
                "rewards/country_reward/mean": 0.45 + 0.2 * done + noise[3] * 1.5,
                "rewards/dist_reward/mean": 0.3 + 0.1 * done + noise[4],
                "completions/mean_length": 96 - 22 * done + noise[5] * 40,
                "completions/clipped_ratio": abs(noise[5]) / 4,
                "entropy": 0.9 - 0.35 * done + noise[1] / 2,
                "frac_reward_zero_std": max(0.0, 0.08 + 0.1 * done + noise[2]),
                "grad_norm": abs(0.15 + noise[4]),
                "loss": noise[0] / 10,
                "learning_rate": 1e-5,
                "step_time": 19 + noise[1] * 9,
                "num_tokens": step * 32 * 520,
            }
        )
    records.append(
        {"step": scale.steps, "train_runtime": scale.seconds_per_step * scale.steps, "train_loss": 0.01}
    )
    return records


def _write_training(root: Path, scale: Scale) -> dict[str, Path]:
    folders = {name: root / name for name in ("lora_checkpoints", "smoke_test", "checkpoint_metrics")}
    for folder in folders.values():
        folder.mkdir()
    history = _log_history(scale)
    for name, records in (("lora_checkpoints", history), ("smoke_test", history[:20])):
        (folders[name] / "log_history.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
        (folders[name] / "samples.jsonl").write_text("")
    stats = {"steps": scale.steps, "first_reward": 0.42, "last_reward": 0.55, "losses_finite": True}
    (folders["lora_checkpoints"] / "train_stats.json").write_text(json.dumps(stats))
    per_step = scale.seconds_per_step
    timings = {"seconds": per_step * scale.steps, "seconds_per_step": per_step}
    (folders["lora_checkpoints"] / "timings.json").write_text(json.dumps(timings))
    (folders["smoke_test"] / "smoke.json").write_text(json.dumps({"format_rate": 0.97, "steps": 20}))
    smoke = {"seconds_per_step": per_step, "peak_gpu_memory_gib": 0.0 if scale.on_cpu else 61.2}
    (folders["smoke_test"] / "timings.json").write_text(json.dumps(smoke))
    _write_checkpoints(folders["checkpoint_metrics"], scale)
    return folders


def _write_checkpoints(out: Path, scale: Scale) -> None:
    rows, listed = _truths(scale, "eval_quick", scale.splits["eval_quick"]), []
    steps = list(range(scale.save_steps, scale.steps + 1, scale.save_steps))
    for step in steps:
        share = 1 - math.exp(-3 * step / scale.steps)
        partial = Scale(**{**scale.__dict__, "gain": scale.gain * share})
        answers = [_prediction(partial, row, "policy", "greedy", 0) for row in rows]
        metrics = _write_answers(out / f"checkpoint-{step}", answers)
        criterion = sum(p.total for p in answers) / len(answers)
        listed.append({"step": step, **metrics, "mean_reward": criterion, "criterion": criterion})
    best = max(listed, key=lambda c: c["criterion"])["step"]
    (out / "checkpoints.json").write_text(json.dumps(listed))
    why = f"highest mean_reward on eval_quick among {len(steps)} checkpoints"
    (out / "best.json").write_text(json.dumps({"step": best, "checkpoint": f"checkpoint-{best}", "why": why}))


def _write_learnable(out: Path, scale: Scale) -> None:
    out.mkdir()
    rows = _truths(scale, "train", 400)
    pl.DataFrame(
        {
            "id": [row["id"] for row in rows],
            "country_iso2": [row["iso2"] for row in rows],
            "set": ["A" if i % 5 else "B" for i in range(400)],
            "hits": [i % 5 for i in range(400)],
        }
    ).write_parquet(out / "train_learnable.parquet")
    stats = {
        "rows_sampled": 1000,
        "base_mean_reward": 0.43,
        "base_country_acc": 0.46,
        "set_a": 320,
        "set_b": 80,
        "rows": 400,
        "countries": len(scale.countries),
        "std_threshold": 0.08,
        "expected_zero_std_share": 0.11,
    }
    (out / "filter_stats.json").write_text(json.dumps(stats))
    dropped = {"damaged": 4, "identical_to_test": 1, "cropped": 31, "copied": 4769, "rows": 4800}
    (out / "dropped.json").write_text(json.dumps(dropped))


def write_run(root: Path, scale: Scale | None = None) -> dict[str, Path]:
    """Write every artifact the report reads below `root`; the result is its `upstream` argument."""
    scale = scale or Scale()
    root.mkdir(parents=True, exist_ok=True)
    upstream = _write_training(root, scale)
    upstream |= {name: root / name for name in ("base_metrics", "rl_metrics", "train_learnable")}
    whos = ("base",) if scale.start_is_base else ("base", "start")
    upstream["base_metrics"].mkdir()
    _write_evaluation(upstream["base_metrics"], scale, whos)
    upstream["rl_metrics"].mkdir()
    _write_evaluation(upstream["rl_metrics"], scale, ("policy",))
    _write_leaks(upstream["rl_metrics"], scale)
    if scale.thumbs:
        _write_thumbs(upstream["base_metrics"], scale)
    _write_learnable(upstream["train_learnable"], scale)
    return upstream
