"""What all figures and tables of oh2026 say: the reference, our reading of its settings, and the rivals."""

from superarm.experiments.experiment import Figure

REFERENCE = "Oh, Park & Paik (2026), Neural variance-aware dueling bandits"
REGRET = Figure("panels", "round", "cumulative average regret")

NOTE = (
    "Regret is the average regret, half the sum of the two arms' gaps; realized regret in the table is "
    "the weak one. Claims compare shares of the regret of chance ('uniform') on the same contexts, since "
    "difficulty varies with Theta. Unless said otherwise, settings are those of appendix E.2: two hidden "
    "layers of 32, 20 Adam steps of 0.01 every round on all history, lambda = a_t = 1. It sets 'the "
    "parameter set V' back to its initial state every round: we set the network back, and the Gram matrix is "
    "that of equation 6, with the features that duels had when they were made. Of some twenty forms that we "
    "tried on six other seeds with the square utility this one came closest to the paper: it had a third to "
    "a half of the regret of a network that goes on from fit to fit, and a Gram matrix rebuilt from the "
    "features of now ended exploration within some ten to thirty duels. Pairs that it is sure of become "
    "duels of an arm with itself, from which nothing is learned: those that are recorded are near ties, and "
    "their weights 1 / zeta^2 stay close to 4, that of a coin. Features are "
    "the second hidden layer, where the appendix has an output layer of a dimension that it does not give; "
    "with one of 5 the regret was three to four times as large in those trials. "
)

RIVALS = (
    "Rivals: VACDB with kappa = 0.1 and radius 2 sqrt(d log T), at which it explores almost throughout 2,000 "
    "rounds; ColSTIM and MaxPairUCB (not in the paper) with radius 1; NDB from standard normal weights in "
    "every fit, with as many steps as NVLDB, in figure-2, too, where the network of NVLDB goes on. As in its "
    "own code, its two arms differ, which NVLDB's need not: that alone costs 20 to 37 % of the regret of "
    "chance with five arms, and all of it with two; see oh2026/self-duels for the same terms. Quadratic "
    "utilities are x'Theta Theta'x with a matrix Theta. "
)
