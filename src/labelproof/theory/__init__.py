"""What can be said before any search: how many label sets are possible, matrices with a guarantee, features needed."""
