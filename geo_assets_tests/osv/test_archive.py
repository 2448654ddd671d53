"""Zip members: which may be used, and that their bytes are what was promised."""

import io
import zipfile

import pytest

from geo_assets.errors import DataError
from geo_assets.osv import archive
from geo_assets_tests.osv.mirrors import jpeg, write_zip

PHOTO = jpeg(1)


def members(path):
    table, skipped = archive.list_members(path, "images/test/00.zip")
    return table.to_dicts(), skipped


def test_hygiene_skips_and_counts(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as zip_file:
        names = [
            "00/",
            "00/1.jpg",
            "deep/er/2.JPG",
            "3.jpeg",
            "__MACOSX/00/._1.jpg",
            ".hidden.jpg",
            "00/.4.jpg",
            "/abs/5.jpg",
            "00/a b.jpg",
            "00/é.jpg",
            "../6.jpg",
            "a/../../7.jpg",
            "C:/8.jpg",
            "other/1.jpg",
            "readme.txt",
            "x\\9.png",
        ]
        for name in names:
            zip_file.writestr(zipfile.ZipInfo(name), b"" if name.endswith("/") else PHOTO)
        link = zipfile.ZipInfo("10.jpg")
        link.external_attr = 0o120777 << 16
        zip_file.writestr(link, "/etc/passwd")
    found, skipped = members(path)
    assert sorted(m["id"] for m in found) == ["1", "2", "3", "9"]
    assert skipped == {
        "macos_metadata": 1, "dotfile": 2, "unsafe_path": 4, "unsafe_name": 2, "repeated_stem": 1,
        "other_file": 1,        "symlink": 1,
    }  # fmt: skip
    assert all(archive.read_member(path, m) == PHOTO for m in found)


def test_encrypted_members_are_skipped(tmp_path):
    info = zipfile.ZipInfo("1.jpg")
    info.flag_bits |= 1
    assert archive.skip_reason(info) == "encrypted"


@pytest.mark.parametrize("compress", [False, True])
def test_bytes_come_back_stored_and_deflated(tmp_path, compress):
    contents = {f"00/{n}.jpg": jpeg(n) for n in range(5)}
    write_zip(tmp_path / "a.zip", contents, compress)
    found, _ = members(tmp_path / "a.zip")
    assert {f"00/{m['id']}.jpg": archive.read_member(tmp_path / "a.zip", m) for m in found} == contents
    assert archive.damaged_members(tmp_path / "a.zip") == 0


@pytest.mark.parametrize(
    ("compress", "reasons"), [(False, {"zip_crc"}), (True, {"zip_crc", "zip_inflate", "zip_size"})]
)
def test_damage_in_the_middle_is_found_by_the_crc(tmp_path, compress, reasons):
    write_zip(tmp_path / "a.zip", {"1.jpg": PHOTO, "2.jpg": jpeg(2)}, compress)
    (first, second), _ = members(tmp_path / "a.zip")
    data = bytearray((tmp_path / "a.zip").read_bytes())
    middle = first["offset"] + 40 + first["stored_bytes"] // 2
    data[middle : middle + 20] = bytes(20)
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(archive.DamagedMember) as error:
        archive.read_member(tmp_path / "a.zip", first)
    assert error.value.args[0] in reasons
    assert archive.read_member(tmp_path / "a.zip", second) == jpeg(2)
    assert archive.damaged_members(tmp_path / "a.zip") == 1


def test_a_directory_that_points_elsewhere_is_damage(tmp_path):
    write_zip(tmp_path / "a.zip", {"1.jpg": PHOTO})
    (member,), _ = members(tmp_path / "a.zip")
    for change in ({"offset": 3}, {"offset": 10**9}, {"stored_bytes": len(PHOTO) - 1}, {"bytes": 5}):
        with pytest.raises(archive.DamagedMember):
            archive.read_member(tmp_path / "a.zip", {**member, **change})


@pytest.mark.parametrize("cut", [1, 30, 2000])
def test_a_cut_zip_is_an_error_with_the_remedy(tmp_path, cut):
    write_zip(tmp_path / "a.zip", {f"{n}.jpg": jpeg(n) for n in range(5)})
    data = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(data[:-cut])
    with pytest.raises(DataError, match="materialize osv_zips again"):
        archive.list_members(tmp_path / "a.zip", "x")


def test_a_bomb_does_not_inflate_beyond_what_it_promises(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zip_file:
        zip_file.writestr("1.jpg", bytes(50_000_000))
    (tmp_path / "a.zip").write_bytes(buffer.getvalue())
    (member,), _ = members(tmp_path / "a.zip")
    with pytest.raises(archive.DamagedMember, match="zip_size"):
        archive.read_member(tmp_path / "a.zip", {**member, "bytes": 1000})
