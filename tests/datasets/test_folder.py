import dataclasses

import numpy as np
import pytest

from pymc_bsvm.datasets import Folder, load_folder

TABLE = "0.5,1,-1\n1.5,2,1\n2.5,3,1\n3.5,4,-1\n"


@pytest.fixture
def write(tmp_path):
    def fill(**files):
        for name, text in files.items():
            stem, _, ending = name.rpartition("_")
            (tmp_path / f"{stem}.{ending}").write_text(text, encoding="utf-8")
        return tmp_path

    return fill


@pytest.fixture
def partitioned(write):
    return write(data_csv=TABLE, train_idx_csv="0,2\n3,1,0\n", test_idx_csv="3,1\n2\n")


def test_classification(partitioned):
    data = load_folder(partitioned)
    np.testing.assert_array_equal(data.X, [[0.5, 1], [1.5, 2], [2.5, 3], [3.5, 4]])
    np.testing.assert_array_equal(data.y, [0, 1, 1, 0])
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert [rows.tolist() for rows in data.train] == [[0, 2], [3, 1, 0]]
    assert [rows.tolist() for rows in data.test] == [[3, 1], [2]]


def test_split_keeps_the_order_of_the_partition(partitioned):
    X_train, y_train, X_test, y_test = load_folder(str(partitioned)).split(1)
    np.testing.assert_array_equal(X_train, [[3.5, 4], [1.5, 2], [0.5, 1]])
    np.testing.assert_array_equal(y_train, [0, 1, 0])
    np.testing.assert_array_equal(X_test, [[2.5, 3]])
    np.testing.assert_array_equal(y_test, [1])


def test_one_partition(partitioned):
    data = load_folder(partitioned, 1)
    assert [rows.tolist() for rows in data.train] == [[3, 1, 0]]
    for kept, whole in zip(data.split(), load_folder(partitioned).split(1), strict=True):
        np.testing.assert_array_equal(kept, whole)


def test_regression_keeps_the_target(write):
    data = load_folder(write(data_csv="1,-1\n2,1\n\n3,0.5\n"))
    np.testing.assert_array_equal(data.y, [-1, 1, 0.5])
    assert data.y.dtype == np.float64
    assert data.train == ()
    assert data.test == ()


def test_two_targets(write):
    data = load_folder(write(data_csv="1,2,-1,1\n3,4,1,-1\n"), targets=2)
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(data.y, [[-1, 1], [1, -1]])
    assert data.y.dtype == np.float64


def test_one_row(write):
    data = load_folder(write(data_csv="1,2,3\n"))
    assert data.X.shape == (1, 2)
    assert data.y.shape == (1,)


def test_abalone(write):
    data = load_folder(write(abalone_data="M,0.4,15\nI,0.2,7\nF,0.5,9\n"))
    np.testing.assert_array_equal(data.X, [[1, 0, 0, 0.4], [0, 0, 1, 0.2], [0, 1, 0, 0.5]])
    np.testing.assert_array_equal(data.y, [15, 7, 9])


def test_frozen():
    data = Folder(np.zeros((2, 1)), np.zeros(2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.X = np.ones((2, 1))


def test_missing_folder(tmp_path, refuses):
    with refuses(FileNotFoundError, "path = ", "nowhere"):
        load_folder(tmp_path / "nowhere")


def test_missing_table(write, refuses):
    folder = write(A_dat="86\n141\n")
    with refuses(FileNotFoundError, "path = ", "data.csv", "abalone.data"):
        load_folder(folder)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "1,2\n1,2,3\n", "1,\n"])
def test_malformed_table(write, text, refuses):
    folder = write(data_csv=text)
    with refuses(ValueError, "not made of numbers"):
        load_folder(folder)


@pytest.mark.parametrize("text", ["1,nan\n", "inf,1\n"])
def test_table_that_is_not_finite(write, text, refuses):
    folder = write(data_csv=text)
    with refuses(ValueError, "not finite"):
        load_folder(folder)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_empty_table(write, text, refuses):
    folder = write(data_csv=text)
    with refuses(ValueError, "data.csv", "is empty"):
        load_folder(folder)


def test_unknown_sex(write, refuses):
    folder = write(abalone_data="X,0.4,15\n")
    with refuses(ValueError, "sex = 'X' "):
        load_folder(folder)


@pytest.mark.parametrize(
    ("targets", "error"), [(0, ValueError), (3, ValueError), (1.0, TypeError), (True, TypeError)]
)
def test_bad_targets(partitioned, targets, error, refuses):
    with refuses(error, f"targets = {targets!r} "):
        load_folder(partitioned, targets=targets)


@pytest.mark.parametrize(
    ("partition", "error"),
    [(2, ValueError), (-1, ValueError), (0.0, TypeError), (True, TypeError)],
)
def test_bad_partition(partitioned, partition, error, refuses):
    with refuses(error, f"partition = {partition!r} "):
        load_folder(partitioned, partition)
    with refuses(error, f"partition = {partition!r} "):
        load_folder(partitioned).split(partition)


def test_partition_of_a_folder_without_partitions(write, refuses):
    folder = write(data_csv=TABLE)
    with refuses(ValueError, "partition = 0 ", "train_idx.csv"):
        load_folder(folder, 0)
    with refuses(ValueError, "partition = 0 "):
        load_folder(folder).split()


@pytest.mark.parametrize(
    ("name", "missing"), [("train_idx", "test_idx.csv"), ("test_idx", "train_idx.csv")]
)
def test_one_index_file(write, name, missing, refuses):
    folder = write(data_csv=TABLE, **{f"{name}_csv": "0,1\n"})
    with refuses(FileNotFoundError, f"no {missing}"):
        load_folder(folder)


def test_unequal_numbers_of_partitions(write, refuses):
    folder = write(data_csv=TABLE, train_idx_csv="0\n1\n", test_idx_csv="2\n")
    with refuses(ValueError, "2 training and 1 test"):
        load_folder(folder)


def test_overlapping_partition(write, refuses):
    folder = write(data_csv=TABLE, train_idx_csv="0,1\n2,1\n", test_idx_csv="2,3\n0,1\n")
    with refuses(ValueError, "Partition 1 "):
        load_folder(folder)


@pytest.mark.parametrize(("row", "words"), [("-1", "row number -1"), ("4", "row number 4")])
def test_row_outside_the_table(write, row, words, refuses):
    folder = write(data_csv=TABLE, train_idx_csv=f"0,{row}\n", test_idx_csv="2\n")
    with refuses(ValueError, "train_idx.csv", words, "0 to 3"):
        load_folder(folder)


@pytest.mark.parametrize("row", ["1.5", "x", ""])
def test_row_that_is_not_an_integer(write, row, refuses):
    folder = write(data_csv=TABLE, train_idx_csv="0\n", test_idx_csv=f"2,{row}\n")
    with refuses(ValueError, "test_idx.csv", "not an integer"):
        load_folder(folder)


def test_empty_index_file(write, refuses):
    folder = write(data_csv=TABLE, train_idx_csv="", test_idx_csv="2\n")
    with refuses(ValueError, "train_idx.csv", "is empty"):
        load_folder(folder)
