"""Many rows: sums over blocks of rows, and the machines that need nothing else of their data."""

__all__: list[str] = []
