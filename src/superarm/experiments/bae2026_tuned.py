"""Exploration nu and regularization lambda of bae2026's methods, per problem, training and method.

Chosen over the paper's grid {0.01, 0.1, 1, 10, 100}^2 by `superarm tune ID --policy METHOD.TRAINING --rounds 1000
--seeds 2`, on seeds 1000 and 1001, which are not reported.
"""

TUNED: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "h1": {
        "descent": {
            "NCBF-UCB": (0.01, 0.01),
            "Logistic-UCB-1": (1.0, 100.0),
            "ada-OFU-ECOLog": (1.0, 100.0),
            "NeuralLog-UCB-1": (0.01, 0.01),
            "NeuralLog-UCB-2": (0.01, 0.01),
            "NeuralLog-TS-1": (0.01, 10.0),
            "NeuralLog-TS-2": (0.01, 10.0),
        },
        "adam": {
            "NCBF-UCB": (0.01, 1.0),
            "Logistic-UCB-1": (0.01, 1.0),
            "ada-OFU-ECOLog": (0.1, 0.01),
            "NeuralLog-UCB-1": (0.01, 1.0),
            "NeuralLog-UCB-2": (0.01, 1.0),
            "NeuralLog-TS-1": (0.01, 0.1),
            "NeuralLog-TS-2": (0.01, 0.1),
        },
    },
    "h2": {
        "descent": {
            "NCBF-UCB": (0.01, 1.0),
            "Logistic-UCB-1": (0.1, 0.01),
            "ada-OFU-ECOLog": (0.1, 0.01),
            "NeuralLog-UCB-1": (0.01, 0.1),
            "NeuralLog-UCB-2": (0.01, 1.0),
            "NeuralLog-TS-1": (0.01, 0.1),
            "NeuralLog-TS-2": (0.1, 1.0),
        },
        "adam": {
            "NCBF-UCB": (0.01, 0.01),
            "Logistic-UCB-1": (0.01, 1.0),
            "ada-OFU-ECOLog": (0.01, 0.1),
            "NeuralLog-UCB-1": (0.01, 0.01),
            "NeuralLog-UCB-2": (0.01, 0.01),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 0.01),
        },
    },
    "h3": {
        "descent": {
            "NCBF-UCB": (0.01, 10.0),
            "Logistic-UCB-1": (0.1, 0.01),
            "ada-OFU-ECOLog": (0.1, 0.1),
            "NeuralLog-UCB-1": (0.01, 10.0),
            "NeuralLog-UCB-2": (0.01, 10.0),
            "NeuralLog-TS-1": (0.01, 10.0),
            "NeuralLog-TS-2": (0.01, 10.0),
        },
        "adam": {
            "NCBF-UCB": (0.01, 0.1),
            "Logistic-UCB-1": (0.01, 0.01),
            "ada-OFU-ECOLog": (0.1, 1.0),
            "NeuralLog-UCB-1": (0.01, 0.1),
            "NeuralLog-UCB-2": (0.01, 0.1),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 0.01),
        },
    },
    "h4": {
        "descent": {
            "NCBF-UCB": (0.1, 0.01),
            "Logistic-UCB-1": (100.0, 10.0),
            "ada-OFU-ECOLog": (10.0, 100.0),
            "NeuralLog-UCB-1": (10.0, 0.01),
            "NeuralLog-UCB-2": (1.0, 0.01),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 0.1),
        },
        "adam": {
            "NCBF-UCB": (0.01, 1.0),
            "Logistic-UCB-1": (100.0, 10.0),
            "ada-OFU-ECOLog": (100.0, 1.0),
            "NeuralLog-UCB-1": (0.01, 1.0),
            "NeuralLog-UCB-2": (0.01, 1.0),
            "NeuralLog-TS-1": (0.01, 0.1),
            "NeuralLog-TS-2": (0.01, 1.0),
        },
    },
    "h5": {
        "descent": {
            "NCBF-UCB": (0.01, 1.0),
            "Logistic-UCB-1": (1.0, 100.0),
            "ada-OFU-ECOLog": (1.0, 100.0),
            "NeuralLog-UCB-1": (0.01, 100.0),
            "NeuralLog-UCB-2": (0.01, 100.0),
            "NeuralLog-TS-1": (0.1, 10.0),
            "NeuralLog-TS-2": (0.01, 0.1),
        },
        "adam": {
            "NCBF-UCB": (1.0, 0.01),
            "Logistic-UCB-1": (1.0, 100.0),
            "ada-OFU-ECOLog": (1.0, 100.0),
            "NeuralLog-UCB-1": (1.0, 0.01),
            "NeuralLog-UCB-2": (1.0, 100.0),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 1.0),
        },
    },
    "h6": {
        "descent": {
            "NCBF-UCB": (0.01, 100.0),
            "Logistic-UCB-1": (0.01, 10.0),
            "ada-OFU-ECOLog": (0.1, 1.0),
            "NeuralLog-UCB-1": (0.01, 100.0),
            "NeuralLog-UCB-2": (0.01, 100.0),
            "NeuralLog-TS-1": (0.01, 10.0),
            "NeuralLog-TS-2": (0.01, 10.0),
        },
        "adam": {
            "NCBF-UCB": (0.01, 0.01),
            "Logistic-UCB-1": (0.1, 0.1),
            "ada-OFU-ECOLog": (1.0, 0.01),
            "NeuralLog-UCB-1": (0.01, 0.01),
            "NeuralLog-UCB-2": (0.01, 1.0),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 0.1),
        },
    },
    "mushroom": {
        "adam": {
            "NCBF-UCB": (0.01, 0.01),
            "Logistic-UCB-1": (0.1, 0.1),
            "ada-OFU-ECOLog": (0.01, 0.01),
            "NeuralLog-UCB-1": (0.01, 1.0),
            "NeuralLog-UCB-2": (0.01, 0.1),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 10.0),
        },
    },
    "shuttle": {
        "adam": {
            "NCBF-UCB": (0.01, 0.1),
            "Logistic-UCB-1": (0.1, 0.01),
            "ada-OFU-ECOLog": (1.0, 1.0),
            "NeuralLog-UCB-1": (0.01, 1.0),
            "NeuralLog-UCB-2": (0.01, 0.1),
            "NeuralLog-TS-1": (0.01, 1.0),
            "NeuralLog-TS-2": (0.01, 1.0),
        },
    },
    "magic": {
        "adam": {
            "NCBF-UCB": (0.01, 0.1),
            "Logistic-UCB-1": (0.01, 0.1),
            "ada-OFU-ECOLog": (0.1, 0.01),
            "NeuralLog-UCB-1": (0.01, 1.0),
            "NeuralLog-UCB-2": (0.01, 0.1),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 1.0),
        },
    },
    "banknote": {
        "adam": {
            "NCBF-UCB": (0.01, 0.1),
            "Logistic-UCB-1": (0.1, 0.1),
            "ada-OFU-ECOLog": (0.01, 0.01),
            "NeuralLog-UCB-1": (0.01, 0.1),
            "NeuralLog-UCB-2": (0.01, 0.1),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 1.0),
        },
    },
    "phoneme": {
        "adam": {
            "NCBF-UCB": (0.01, 0.01),
            "Logistic-UCB-1": (0.01, 1.0),
            "ada-OFU-ECOLog": (1.0, 1.0),
            "NeuralLog-UCB-1": (0.01, 0.1),
            "NeuralLog-UCB-2": (0.01, 0.01),
            "NeuralLog-TS-1": (0.01, 0.01),
            "NeuralLog-TS-2": (0.01, 0.1),
        },
    },
}
