"""From typed expressions to Python source."""
