"""Parameter server: k of the ranks are servers, each adds up its share of the chunks for everybody.

This file imports nothing. With 4 ranks and 2 servers, rank 0 serves chunks 0 and 2, rank 1 chunks 1 and 3
(chunks: from > to; the server adds)

    13: 0>1   02: 1>0   02: 2>0   13: 2>1   13: 3>1   02: 3>0

and then each server sends its share, complete, to everybody else (they replace)

    02: 0>1   02: 0>2   02: 0>3   13: 1>0   13: 1>2   13: 1>3

One server is the star: it moves 2(p - 1) S bytes and everybody waits for it. With k servers the load is shared; when
every rank serves (servers=p) each moves 2(p - 1)/p * S in and as much out, exactly the bytes of the ring, and the
bottleneck is gone. More servers than ranks are as many as ranks.
"""


def parameter_server_allreduce(chunks, rank, send, recv, servers=2):
    """Chunks that hold the sum over all ranks, on every rank."""
    p = len(chunks)
    servers = min(servers, p)
    for k in range(1, servers + 1):  # each client begins at another server
        server = (rank + k) % servers
        if server != rank:
            send([chunks[i] for i in range(server, p, servers)], server)
    if rank < servers:
        for k in range(1, p):
            share = recv((rank - k) % p)
            for i in range(len(share)):
                chunks[rank + i * servers] += share[i]
        for k in range(1, p):
            send([chunks[i] for i in range(rank, p, servers)], (rank + k) % p)
    for k in range(1, servers + 1):
        server = (rank - k) % servers
        if server != rank:
            share = recv(server)
            for i in range(len(share)):
                chunks[server + i * servers] = share[i]
    return chunks


parameter_server_allreduce.lends = True  # a share is written again only when it comes back from the server that read it
