"""The whole report: complete, self-contained, safe against model text, the same bytes twice."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from geo_assets.errors import ArtifactError
from geo_assets.report.render import build_report, environment, render, tidy
from geo_assets.report.run import Run, read_run
from geo_assets.settings import Settings

VOID = {"meta", "img", "br", "link", "hr", "input"}


class Page(HTMLParser):
    """Elements of a page, and whether every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def pod_report(pod_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    render(pod_run, out)
    return out


def test_every_section_of_the_specification_is_there(pod_report: Path) -> None:
    text = (pod_report / "report.md").read_text()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "How much better",
        "Would you bet on it?",
        "Where in the world",
        "Photos it got right, and wrong",
        "Before and after, every metric",
        "Where this stands",
        "Training",
        "Controls",
        "Leak ladder",
        "Calibration",
        "Training rows and dropped data",
        "Hours, tokens, dollars",
        "Versions and recipes",
    ]


def test_page_is_well_formed_and_fetches_nothing(pod_report: Path) -> None:
    text = (pod_report / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.tags["script"] == 0
    assert page.tags["link"] == 0
    urls = [a.get("src") or a.get("href") or "" for _, a in page.attributes if "src" in a or "href" in a]
    assert all(url.startswith(("data:image/", "#")) for url in urls)
    assert "url(" not in text.split("</style>")[0]


def test_page_is_accessible(pod_report: Path) -> None:
    page = Page((pod_report / "report.html").read_text())
    for tag, attributes in page.attributes:
        if tag == "img":
            assert attributes["alt"]
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
    assert page.tags["caption"] == page.tags["table"]
    ids = [a["id"] for _, a in page.attributes if a.get("id")]
    assert len(ids) == len(set(ids))
    assert ("html", {"lang": "en"}) in page.attributes


def test_every_figure_states_its_n(pod_report: Path) -> None:
    text = (pod_report / "report.html").read_text()
    captions = re.findall(r"<figure id=\"fig-(.*?)\".*?<figcaption>(.*?)</figcaption>", text, re.DOTALL)
    assert len(captions) > 15
    in_labels = {"ladder", "countries"}
    for name, caption in captions:
        assert "n = " in caption or name in in_labels, name


def test_hostile_completions_are_shown_as_text(pod_report: Path) -> None:
    page = (pod_report / "report.html").read_text()
    markdown = (pod_report / "report.md").read_text()
    assert "alert(1)" in page  # the made-up run does show a hostile answer
    assert "<script>alert" not in page
    fences, outside = re.findall(r"^(`{3,})text$", markdown, re.MULTILINE), []
    inside = ""
    for line in markdown.splitlines():
        if inside:
            inside = "" if line == inside else inside
        elif found := re.match(r"^(`{3,})text$", line):
            inside = found.group(1)
        else:
            outside.append(line)
    assert fences
    assert inside == ""
    assert "<" not in "".join(outside)
    assert "javascript:" not in "".join(outside)


def test_figures_of_the_markdown_exist_and_parse(pod_report: Path) -> None:
    named = set(re.findall(r"\]\(figures/([^)]+)\)", (pod_report / "report.md").read_text()))
    written = {path.name for path in (pod_report / "figures").iterdir()}
    assert named == written
    for path in (pod_report / "figures").glob("*.svg"):
        root = ElementTree.fromstring(path.read_text())
        assert root.tag.endswith("svg")
        assert "prefers-color-scheme:dark" in path.read_text()


def test_markdown_tables_have_equal_columns_and_end(pod_report: Path) -> None:
    lines = (pod_report / "report.md").read_text().splitlines()
    for i, line in enumerate(lines):
        if re.fullmatch(r"\|(:?-+:?\|)+", line):
            width = line.count("|")
            j = i + 1
            while j < len(lines) and lines[j].startswith("|"):
                assert len(re.findall(r"(?<!\\)\|", lines[j])) == width
                j += 1
            assert j == len(lines) or lines[j] == ""


def test_same_inputs_give_the_same_bytes(
    pod_upstream: dict[str, Path], pod_run: Run, pod_report: Path, tmp_path: Path, recipes: dict[str, str]
) -> None:
    build_report(pod_upstream, pod_run.settings, tmp_path, recipes)
    first, second = (
        {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        for root in (pod_report, tmp_path)
    )
    assert first == second


def test_metadata_has_verdict_and_headline(pod_run: Run, tmp_path: Path) -> None:
    found = render(pod_run, tmp_path)
    assert found["verdict"] == "Improved"
    gain = found["sampled/mean_geoscore/gain"]
    assert found["sampled/mean_geoscore/gain_low"] < gain < found["sampled/mean_geoscore/gain_high"]
    assert found["html_bytes"] == (tmp_path / "report.html").stat().st_size < 1_000_000


def test_demo_says_bias_and_drawn_world_beside_the_gain(demo_run: Run, tmp_path: Path) -> None:
    render(demo_run, tmp_path)
    for name in ("report.md", "report.html"):
        head = (tmp_path / name).read_text().split("How much better")[-2]
        assert "look-alike 60% of the time" in head
        assert "Greedy answers overstate such a flip" in head
        assert "The scenes are drawn and the model is tiny" in head
    text = (tmp_path / "report.md").read_text()
    assert (
        "This run, on drawn scenes: another test, do not compare"
        in (tmp_path / "figures" / "landscape.svg").read_text()
    )
    assert "no GPU rented" in text
    assert "against base" in text
    assert "against start" in text


def test_bare_run_says_what_is_missing_and_claims_nothing(bare_run: Run, tmp_path: Path) -> None:
    found = render(bare_run, tmp_path)
    assert found["verdict"] == "No change shown"
    text = (tmp_path / "report.md").read_text()
    assert "mproved" not in text
    for words in (
        "sampled answers were not measured",
        "controls is off",
        "No distances to training photos were recorded",
        "Needs at least two sampled answers",
        "The trainer's log has no curves",
        "No checkpoint was measured",
        "recorded no filter statistics",
        "No counts of dropped rows reached this report",
    ):
        assert words in text.replace("\\", "")


def test_missing_artifacts_and_policies_are_errors_with_a_remedy(
    pod_upstream: dict[str, Path], tmp_path: Path
) -> None:
    settings = Settings(name="pod")
    with pytest.raises(ArtifactError, match="rl_metrics: materialize"):
        read_run({k: v for k, v in pod_upstream.items() if k != "rl_metrics"}, settings, {})
    empty = tmp_path / "rl_metrics"
    shutil.copytree(pod_upstream["rl_metrics"], empty, ignore=shutil.ignore_patterns("policy"))
    with pytest.raises(ArtifactError, match="base_metrics and rl_metrics again"):
        read_run({**pod_upstream, "rl_metrics": empty}, settings, {})


def test_splits_that_only_one_side_answered_are_left_out(pod_run: Run, tmp_path: Path) -> None:
    lacking = {key: a for key, a in pod_run.answers.items() if key[:2] != ("base", "eval_osv")}
    run = replace(pod_run, answers=lacking)
    assert run.splits == ["eval_quick", "eval_pano"]
    assert "on 120 photos of the quick set" in render(run, tmp_path)["sentence"]


def test_tidy_keeps_blank_lines_inside_fences() -> None:
    assert tidy("a\n\n\nb\n```text\nx\n\n\ny\n```\n\n\n") == "a\n\nb\n```text\nx\n\n\ny\n```\n"


def test_html_environment_escapes_by_default() -> None:
    assert environment(html=True).from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"
