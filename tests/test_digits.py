"""The shipped digits are those of the data set, and the script that makes them says what it cannot use."""

import gzip
import hashlib
import zipfile

import numpy as np
import pytest

from ringlab.data import make_digits

SHIPPED = make_digits.TARGET


@pytest.fixture(scope="module")
def shipped():
    with np.load(SHIPPED, allow_pickle=False) as file:
        return file["images"], file["labels"]


def test_shapes_and_dtypes(shipped):
    images, labels = shipped
    assert images.shape == (1797, 8, 8)
    assert images.dtype == np.uint8
    assert labels.shape == (1797,)
    assert labels.dtype == np.uint8


def test_pixels_run_from_paper_to_ink(shipped):
    images, labels = shipped
    assert sorted(set(images.ravel().tolist())) == list(range(17))
    assert sorted(set(labels.tolist())) == list(range(10))


def test_as_many_of_each_digit_as_the_data_set_states(shipped):
    _, labels = shipped
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_ink_per_digit(shipped):
    images, labels = shipped
    ink = [int(images[labels == digit].sum(dtype=int)) for digit in range(10)]
    assert ink == [56415, 57007, 55566, 56151, 56239, 55915, 56336, 54289, 57408, 56392]
    assert sum(ink) == 561718


def test_every_pixel_and_label_in_order(shipped):
    images, labels = shipped
    checksum = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()
    assert checksum == "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


# -- the script ------------------------------------------------------------------------------------------


def source_of(images, labels):
    rows = np.column_stack([images.reshape(len(images), -1), labels])
    return gzip.compress("\n".join(",".join(map(str, row)) for row in rows.tolist()).encode())


@pytest.fixture
def source(shipped):
    images, labels = shipped
    return source_of(images[:5], labels[:5])


def a_wheel(tmp_path, source):
    path = tmp_path / "scikit_learn-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(make_digits.INSIDE, source)
    return path


def site_packages(tmp_path, source):
    path = tmp_path / make_digits.INSIDE
    path.parent.mkdir(parents=True)
    path.write_bytes(source)
    return tmp_path


def the_package(tmp_path, source):
    return site_packages(tmp_path, source) / "sklearn"


def the_file(tmp_path, source):
    return site_packages(tmp_path, source) / make_digits.INSIDE


@pytest.mark.parametrize("place", [a_wheel, site_packages, the_package, the_file])
def test_make_digits_finds_the_file_and_keeps_its_numbers(place, tmp_path, source, shipped):
    images, labels = shipped
    target = tmp_path / "made.npz"
    make_digits.make(place(tmp_path, source), target)
    with np.load(target, allow_pickle=False) as made:
        np.testing.assert_array_equal(made["images"], images[:5])
        np.testing.assert_array_equal(made["labels"], labels[:5])
        assert made["images"].dtype == made["labels"].dtype == np.uint8


def test_make_digits_says_what_it_looked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no sklearn/datasets/data/digits\.csv\.gz at"):
        make_digits.read_source(tmp_path)
    empty = tmp_path / "other.whl"
    with zipfile.ZipFile(empty, "w") as wheel:
        wheel.writestr("something.txt", "else")
    with pytest.raises(FileNotFoundError, match="is it a scikit-learn wheel"):
        make_digits.read_source(empty)


@pytest.mark.parametrize("pixel", [17, -1, 0.5])
def test_make_digits_refuses_pixels_that_are_none(pixel, shipped):
    images, labels = shipped
    wrong = images[:2].astype(float)
    wrong[1, 3, 3] = pixel
    with pytest.raises(ValueError, match=r"pixels in 0\.\.16"):
        make_digits.parse(source_of(wrong, labels[:2]))


def test_make_digits_refuses_a_table_of_another_width():
    with pytest.raises(ValueError, match="expected 65 numbers a line"):
        make_digits.parse(gzip.compress(b"1,2,3\n4,5,6\n"))
