"""The stateful shell over a policy: choose now, learn when feedback comes, survive a restart."""
