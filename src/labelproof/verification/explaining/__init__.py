"""What `explain` is made of: smaller conflicts, near argmaxable sets, labels that change first, and words for them."""
