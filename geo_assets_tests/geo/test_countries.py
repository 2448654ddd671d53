import json

import pycountry
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.geo import countries
from geo_assets.geo.countries import country_name, country_table, normalise, sovereign_iso2, to_iso2
from geo_assets_tests.cases.countries import NATIVE, PROBES

ALL = sorted(country_table().english)


@pytest.mark.parametrize(("name", "iso2"), PROBES, ids=lambda value: repr(value)[:40])
def test_probes(name, iso2):
    assert to_iso2(name) == iso2


def test_native_names():
    wrong = [(name, iso2, to_iso2(name)) for name, iso2 in NATIVE if to_iso2(name) != iso2]
    assert wrong == []
    assert len({iso2 for _, iso2 in NATIVE}) >= 120


@pytest.mark.parametrize("value", [None, True, 5, 3.3, float("nan"), b"FR", ["FR"], {"name": "FR"}, ("FR",)])
def test_what_is_no_text_is_no_country(value):
    assert to_iso2(value) is None


def test_every_code_and_name_leads_back():
    assert len(ALL) == 250
    for iso2 in ALL:
        assert to_iso2(iso2) == iso2
        assert to_iso2(country_name(iso2)) == iso2
        assert to_iso2("".join(chr(0x1F1E6 + ord(letter) - ord("A")) for letter in iso2)) == iso2


def test_pycountry_names_keep_their_meaning():
    for country in pycountry.countries:
        for field in ("name", "common_name", "official_name", "alpha_2", "alpha_3"):
            name = getattr(country, field, None)
            assert name is None or to_iso2(name) == country.alpha_2


def test_aliases_keep_their_meaning():
    meant: dict[str, str] = {}
    for alias, iso2 in countries._rows("countries_aliases.tsv"):
        assert to_iso2(alias) == iso2
        assert meant.setdefault(normalise(alias), iso2) == iso2


def test_no_native_name_stands_for_another_country():
    for iso2, _, _, name in countries._rows("countries_native.tsv"):
        assert to_iso2(name) in (iso2, None)


def test_countries_of_osv5m_are_all_known(shared_data):
    codes = json.loads((shared_data / "geo" / "osv5m_possible_iso2.json").read_text(encoding="utf-8"))
    assert [code for code in codes if to_iso2(code) != code] == []


@given(st.text(max_size=200))
def test_any_text_is_a_known_code_or_nothing(name):
    iso2 = to_iso2(name)
    assert iso2 is None or iso2 in country_table().english


@given(
    st.sampled_from(ALL), st.sampled_from([str.upper, str.lower, str.title, lambda name: f"  the {name}. "])
)
def test_case_and_blanks_do_not_matter(iso2, change):
    assert to_iso2(change(country_name(iso2))) == iso2


@given(st.sampled_from(ALL), st.sampled_from(ALL), st.sampled_from([" or ", " / ", ", ", " and ", "; "]))
def test_two_countries_are_none(first, second, between):
    if first != second:
        found = to_iso2(country_name(first) + between + country_name(second))
        assert found is None or found not in (first, second) or between == ", "


def test_states_contain_their_territories():
    assert [sovereign_iso2(code) for code in ("PR", "HK", "GL", "RE", "JE")] == ["US", "CN", "DK", "FR", "GB"]
    assert [sovereign_iso2(code) for code in ("XK", "TW", "PS", "EH", "??")] == ["XK", "TW", "PS", "EH", "??"]
    assert all(sovereign_iso2(sovereign_iso2(iso2)) == sovereign_iso2(iso2) for iso2 in ALL)


def test_an_unknown_code_has_no_name():
    with pytest.raises(KeyError):
        country_name("ZZ")
