"""Theory as code: regret bounds, and the neural tangent kernel."""
