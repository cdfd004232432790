"""Floor 1: the model configuration, from a Signature to ``config.pbtxt`` and back."""
