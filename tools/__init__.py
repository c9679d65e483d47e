"""What is run when the product is built or checked; no part of it."""
