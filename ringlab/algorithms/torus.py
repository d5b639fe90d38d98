"""2D torus: rings along the rows of a grid, then along its columns, then back.

This file imports nothing. With 4 ranks in 2 rows, rank 2 below rank 0 (chunks: from > to)

    rows, adding      01: 0>1   23: 1>0   01: 2>3   23: 3>2
    columns, adding    2: 0>2    0: 1>3    3: 2>0    1: 3>1
    columns, copying   3: 0>2    1: 1>3    2: 2>0    0: 3>1
    rows, copying     23: 0>1   01: 1>0   23: 2>3   01: 3>2

Along a row the chunks go in bundles, a bundle per column; each column then finishes its bundle. With X columns and Y
rows that is 2(X - 1) + 2(Y - 1) rounds instead of the ring's 2(XY - 1), and not one byte more:
(X - 1)/X + (Y - 1)/(XY) = (XY - 1)/(XY).

`columns` must divide p; by default the grid is as square as p allows, so a prime p gives the plain ring.
"""


def torus_allreduce(chunks, rank, send, recv, columns=None):
    """Chunks that hold the sum over all ranks, on every rank."""
    p = len(chunks)
    if columns is None:
        columns = p // max(rows for rows in range(1, p + 1) if p % rows == 0 and rows * rows <= p)
    if p % columns:
        raise ValueError(f"{columns} columns do not divide {p} ranks")
    rows = p // columns
    row, column = divmod(rank, columns)
    right, left = row * columns + (column + 1) % columns, row * columns + (column - 1) % columns
    below, above = (rank + columns) % p, (rank - columns) % p
    # a bundle holds one chunk per row: bundle i is chunks i * rows to (i + 1) * rows
    for k in range(columns - 1):
        first = (column - k) % columns * rows
        send(chunks[first : first + rows], right)
        bundle, first = recv(left), (column - k - 1) % columns * rows
        for i in range(rows):
            chunks[first + i] += bundle[i]
    first = (column + 1) % columns * rows  # my column's bundle
    for k in range(rows - 1):
        send(chunks[first + (row - k) % rows], below)
        chunks[first + (row - k - 1) % rows] += recv(above)
    for k in range(rows - 1):
        send(chunks[first + (row - k + 1) % rows], below)
        chunks[first + (row - k) % rows] = recv(above)
    for k in range(columns - 1):
        first = (column - k + 1) % columns * rows
        send(chunks[first : first + rows], right)
        bundle, first = recv(left), (column - k) % columns * rows
        for i in range(rows):
            chunks[first + i] = bundle[i]
    return chunks


torus_allreduce.lends = True  # rings one after the other, each as safe as the ring
