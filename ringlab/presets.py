"""Named networks: published numbers of machines that nobody in class has to own.

All are models. Bandwidths are nominal line rates in one direction, taken from the document named; a library reaches
less. The alphas are round figures, and they are the weakest part of every such table: a microsecond is what the
texts that this lab teaches assume for a cluster, and a library on top of it takes several (NCCL's own tuning table
starts at 14 microseconds for a large message over a network, `src/graph/tuning.cc`).
"""

from .network import Network
from .verdicts import BadInput

PRESETS = {
    "10 GbE": Network(
        alpha=1e-6,
        beta=1 / 1.25e9,
        name="10 GbE",
        source="10 Gbit/s each way: IEEE 802.3ae (2002). alpha: a round 1 us.",
    ),
    "100G": Network(
        alpha=1e-6,
        beta=1 / 12.5e9,
        name="100G",
        source="100 Gbit/s each way: IEEE 802.3ba (2010). alpha: a round 1 us.",
    ),
    "400G": Network(
        alpha=1e-6,
        beta=1 / 50e9,
        name="400G",
        source="400 Gbit/s each way: IEEE 802.3bs (2017). alpha: a round 1 us.",
    ),
    "NVLink": Network(
        alpha=1e-6,
        beta=1 / 450e9,
        name="NVLink",
        source="NVLink 4 of an H100: NVIDIA states 900 GB/s in both directions together, so 450 GB/s each way. "
        "alpha: a round 1 us.",
    ),
    "home upload": Network(
        alpha=0.02,
        beta=1 / 2.5e6,
        name="home upload",
        source="20 Mbit/s up: what the US regulator calls broadband since 2024 (FCC, 2024 Section 706 Report: 100 "
        "down, 20 up). alpha: a round 20 ms across a country. Homes are often behind NAT: add .behind_nat(rank, ...).",
    ),
    "hospital site": Network(
        alpha=0.02,
        beta=1 / 12.5e6,
        name="hospital site",
        source="100 Mbit/s: what the US National Broadband Plan of 2010 asks for a hospital (exhibit 10-C; FCC, OBI "
        "Technical Paper 5). alpha: a round 20 ms across a country. Its firewall lets calls out and none in: add "
        ".behind_nat(rank, ...).",
    ),
}


def preset(name):
    """The network of that name, blanks and capitals aside; BadInput lists the names."""
    wanted = _key(name)
    for known, network in PRESETS.items():
        if _key(known) == wanted:
            return network
    raise BadInput(f"network {name!r} is not known", f"presets: {', '.join(PRESETS)}")


def _key(name):
    return str(name).replace(" ", "").replace("-", "").casefold()
