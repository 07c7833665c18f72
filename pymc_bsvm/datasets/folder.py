"""Public data sets kept as a folder of text files, with their train/test partitions."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm.datasets import check

SEXES = ("M", "F", "I")


@dataclass(frozen=True, eq=False)
class Folder:
    """A data set with its partitions into training and test rows.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Inputs.
    y : ndarray of shape (n,) or (n, targets)
        Targets, or integer labels 0 and 1.
    train, test : tuple of ndarray
        For each partition the row numbers, counted from zero; empty without partitions.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64] | NDArray[np.int64]
    train: tuple[NDArray[np.intp], ...] = ()
    test: tuple[NDArray[np.intp], ...] = ()

    def split(
        self, partition: int = 0
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64] | NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.float64] | NDArray[np.int64],
    ]:
        """Return the training and the test rows of one partition.

        Parameters
        ----------
        partition : int
            Number of the partition, counted from zero.

        Returns
        -------
        X_train, y_train, X_test, y_test : ndarray
            Rows in the order of the partition.
        """
        k = _partition_number(partition, len(self.train))
        train, test = self.train[k], self.test[k]
        return self.X[train], self.y[train], self.X[test], self.y[test]


def load_folder(
    path: str | PathLike[str], partition: int | None = None, *, targets: int = 1
) -> Folder:
    """Load a data set from a folder of text files.

    The folder holds ``data.csv``: one row per line, no header, the inputs first and the targets in
    the last columns. Two optional files, ``train_idx.csv`` and ``test_idx.csv``, hold one
    partition per line, as row numbers counted from zero. A folder with the ``abalone.data`` of the
    UCI archive instead of ``data.csv`` is read too: the sex becomes three columns, (1, 0, 0) for
    male, (0, 1, 0) for female and (0, 0, 1) for infant, as in section 4.5.4 of [Chu03]_.

    Parameters
    ----------
    path : str or path
        The folder.
    partition : int, optional
        Number of the only partition to keep, counted from zero. By default all are kept.
    targets : int
        Number of target columns.

    Returns
    -------
    Folder
        Inputs, targets and partitions. A single target column that holds only -1 and +1 is taken
        for class labels and becomes 0 and 1; any other target is left as it is in the file.

    References
    ----------
    [Chu03]_, section 4.5.4.
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path = {path!r} is not a path. Pass the name of a folder.")
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"path = {str(path)!r} is not a folder. Pass an existing folder.")
    table = _table(folder)
    columns = table.shape[1]
    if not 1 <= check.integer("targets", targets) < columns:
        raise ValueError(
            f"targets = {targets!r} does not fit {columns} columns. "
            f"Pass a number from 1 to {columns - 1}."
        )
    train, test = _partitions(folder, len(table))
    if partition is not None:
        k = _partition_number(partition, len(train))
        train, test = train[k : k + 1], test[k : k + 1]
    return Folder(table[:, :-targets], _target(table[:, -targets:]), train, test)


def _table(folder: Path) -> NDArray[np.float64]:
    if (folder / "data.csv").is_file():
        lines = _lines(folder / "data.csv")
    elif (folder / "abalone.data").is_file():
        lines = [_one_hot(line) for line in _lines(folder / "abalone.data")]
    else:
        raise FileNotFoundError(
            f"path = {str(folder)!r} holds neither data.csv nor abalone.data. "
            "Write the table to data.csv."
        )
    try:
        table = np.loadtxt(lines, delimiter=",", ndmin=2, dtype=np.float64)
    except ValueError as error:
        raise ValueError(
            f"The table in {str(folder)!r} is not made of numbers in equally long rows. "
            "Write numbers between commas, without a header."
        ) from error
    if not np.all(np.isfinite(table)):
        raise ValueError(
            f"The table in {str(folder)!r} has values that are not finite. Remove those rows."
        )
    return table


def _lines(file: Path) -> list[str]:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"The file {str(file)!r} is empty. Write one row per line.")
    return lines


def _one_hot(line: str) -> str:
    sex, _, rest = line.partition(",")
    check.choice("sex", sex, SEXES)
    return ",".join([*("1" if sex == other else "0" for other in SEXES), rest])


def _target(columns: NDArray[np.float64]) -> NDArray[np.float64] | NDArray[np.int64]:
    if columns.shape[1] > 1:
        return columns
    y = columns[:, 0]
    return (y > 0).astype(np.int64) if np.all(np.abs(y) == 1) else y


def _partitions(
    folder: Path, n: int
) -> tuple[tuple[NDArray[np.intp], ...], tuple[NDArray[np.intp], ...]]:
    files = folder / "train_idx.csv", folder / "test_idx.csv"
    present = [file for file in files if file.is_file()]
    if not present:
        return (), ()
    if len(present) == 1:
        missing = files[1] if present[0] == files[0] else files[0]
        raise FileNotFoundError(
            f"path = {str(folder)!r} holds {present[0].name} but no {missing.name}. "
            "Add the missing file or remove the other."
        )
    train, test = (tuple(_indices(line, file, n) for line in _lines(file)) for file in files)
    if len(train) != len(test):
        raise ValueError(
            f"There are {len(train)} training and {len(test)} test partitions. "
            "Write as many lines to train_idx.csv as to test_idx.csv."
        )
    for k, (rows, others) in enumerate(zip(train, test, strict=True)):
        if np.intersect1d(rows, others).size:
            raise ValueError(
                f"Partition {k} has rows in both training and test. Keep each in one of the two."
            )
    return train, test


def _indices(line: str, file: Path, n: int) -> NDArray[np.intp]:
    try:
        rows = np.array([int(word) for word in line.split(",")], dtype=np.intp)
    except ValueError as error:
        raise ValueError(
            f"The file {file.name} holds a row number that is not an integer. "
            "Write integers between commas."
        ) from error
    if rows.min() < 0 or rows.max() >= n:
        worst = rows.min() if rows.min() < 0 else rows.max()
        raise ValueError(
            f"The file {file.name} holds the row number {worst}, outside the table. "
            f"Write numbers from 0 to {n - 1}."
        )
    return rows


def _partition_number(partition: int, count: int) -> int:
    k = check.integer("partition", partition)
    if count == 0:
        raise ValueError(
            f"partition = {partition!r} was asked for and the folder has none. "
            "Add train_idx.csv and test_idx.csv."
        )
    if not 0 <= k < count:
        raise ValueError(
            f"partition = {partition!r} does not exist. Pass a number from 0 to {count - 1}."
        )
    return k
