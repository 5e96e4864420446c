"""One row per experiment: how much it runs at paper scale, what it claims, and the mark of its settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What an experiment has at paper scale.

    Args:
        settings: how many worlds.
        runs: how many runs, over all settings, policies and seeds.
        claims: how many sentences are judged.
        marks: of the fingerprints of all settings, in their order. Results on disk are valid as long as it
            stays; change it only together with the results.
    """

    settings: int
    runs: int
    claims: int
    marks: str


ROWS = {
    "wen2015/longest-path": Row(settings=1, runs=200, claims=2, marks="863598fb683f"),
    "wen2015/longest-path-size": Row(settings=11, runs=2_200, claims=3, marks="9ff22af6b0cb"),
    "wen2015/longest-path-dim": Row(settings=11, runs=2_200, claims=1, marks="8256e6913371"),
    "wen2015/longest-path-noise": Row(settings=12, runs=2_400, claims=5, marks="7088a6ca3d78"),
    "wen2015/longest-path-prior": Row(settings=8, runs=1_600, claims=4, marks="1ace4da0b2cf"),
    "wen2015/adult": Row(settings=1, runs=90, claims=4, marks="acc0de75816a"),
    "wen2015/lastfm": Row(settings=2, runs=180, claims=4, marks="ec9181d850a0"),
    "hwang2023/linear": Row(settings=3, runs=126, claims=9, marks="3be9c7fe6d4b"),
    "hwang2023/quadratic": Row(settings=3, runs=126, claims=12, marks="1c6d981d128f"),
    "hwang2023/cosine": Row(settings=2, runs=120, claims=12, marks="63805a6cd39a"),
    "hwang2023/dim-40": Row(settings=3, runs=126, claims=6, marks="a6ef83eeeada"),
    "hwang2023/dim-120": Row(settings=2, runs=120, claims=13, marks="e4a94f51c99c"),
    "bae2026/h1": Row(settings=2, runs=140, claims=12, marks="6a8e59cd771a"),
    "bae2026/h2": Row(settings=2, runs=140, claims=12, marks="a9069c6b50ce"),
    "bae2026/h3": Row(settings=2, runs=140, claims=12, marks="348cdc18ebe9"),
    "bae2026/h4": Row(settings=2, runs=140, claims=12, marks="2b0083822373"),
    "bae2026/h5": Row(settings=2, runs=140, claims=12, marks="79f5ce230c8b"),
    "bae2026/h6": Row(settings=2, runs=140, claims=12, marks="edc8c06f3918"),
    "bae2026/dimension-low": Row(settings=6, runs=420, claims=36, marks="6348e7587a2d"),
    "bae2026/dimension-middle": Row(settings=6, runs=420, claims=36, marks="ea975d9e22a3"),
    "bae2026/dimension-high": Row(settings=6, runs=420, claims=36, marks="881c69c42fa8"),
    "bae2026/mnist": Row(settings=2, runs=140, claims=12, marks="df03d2e2f602"),
    "bae2026/mushroom": Row(settings=2, runs=140, claims=12, marks="51f86b227fa2"),
    "bae2026/shuttle": Row(settings=2, runs=140, claims=12, marks="f651a00ef57a"),
    "bae2026/magic": Row(settings=2, runs=140, claims=12, marks="a36119d28ff4"),
    "bae2026/banknote": Row(settings=2, runs=140, claims=12, marks="9dce47bd508f"),
    "bae2026/phoneme": Row(settings=2, runs=140, claims=12, marks="da789d38e737"),
    "bae2026/open-bandit": Row(settings=7, runs=245, claims=13, marks="b2dfb308287f"),
    "sun2026/linear": Row(settings=1, runs=350, claims=4, marks="42c07f4f9947"),
    "sun2026/logistic": Row(settings=1, runs=400, claims=4, marks="b567d2bcab00"),
    "sun2026/distance": Row(settings=1, runs=300, claims=3, marks="00473342db1f"),
    "sun2026/quadratic": Row(settings=1, runs=300, claims=3, marks="2d27275f01ec"),
    "sun2026/logistic-runtime": Row(settings=2, runs=21, claims=3, marks="321090bb402f"),
    "sun2026/quadratic-runtime": Row(settings=2, runs=18, claims=3, marks="b8019e90132a"),
    "sun2026/ensemble-size": Row(settings=1, runs=200, claims=3, marks="93d4308d4735"),
    "sun2026/regularization": Row(settings=1, runs=250, claims=4, marks="f46968ed9fee"),
    "sun2026/perturbation": Row(settings=1, runs=250, claims=4, marks="adecd27ae7b4"),
    "sun2026/network": Row(settings=1, runs=350, claims=4, marks="b7fa018f2c8b"),
    "sun2026/anytime-schedules": Row(settings=1, runs=400, claims=6, marks="3087d0cf650c"),
    "sun2026/large": Row(settings=2, runs=700, claims=7, marks="d4479f145427"),
    "sun2026/shuttle": Row(settings=1, runs=100, claims=5, marks="04c44011148b"),
    "sun2026/mushroom": Row(settings=1, runs=100, claims=5, marks="efa086e7aab7"),
    "sun2026/adult": Row(settings=1, runs=100, claims=5, marks="200c24464271"),
    "sun2026/covertype": Row(settings=1, runs=100, claims=5, marks="899bcf9af174"),
    "oh2026/cosine": Row(settings=4, runs=910, claims=31, marks="8eca70aab51d"),
    "oh2026/square": Row(settings=4, runs=1_040, claims=31, marks="06140b8993f0"),
    "oh2026/quadratic": Row(settings=4, runs=845, claims=31, marks="849490c5be28"),
    "oh2026/agnostic": Row(settings=3, runs=780, claims=36, marks="515931660adf"),
    "oh2026/radius": Row(settings=3, runs=360, claims=6, marks="4804676e68d6"),
    "oh2026/self-duels": Row(settings=4, runs=378, claims=8, marks="42836c832e6f"),
    "oh2026/statlog": Row(settings=2, runs=570, claims=28, marks="4c3fda3d38f7"),
    "oh2026/magic": Row(settings=2, runs=390, claims=12, marks="93b6b5352e5c"),
    "oh2026/covertype": Row(settings=2, runs=143, claims=12, marks="aca326af6121"),
    "oh2026/width": Row(settings=2, runs=32, claims=24, marks="6df968631a7f"),
    "oh2026/high-dim": Row(settings=4, runs=220, claims=48, marks="1e4076471783"),
    "oh2026/runtime": Row(settings=1, runs=15, claims=2, marks="ed172d95f428"),
}
