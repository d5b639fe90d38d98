"""What is looked at: the player, the guesses, the figures. Only modules of this package load widgets and plotly."""
