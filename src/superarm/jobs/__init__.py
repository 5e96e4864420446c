"""Where jobs run: worker processes of this machine, or a Ray cluster."""
