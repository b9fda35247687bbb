"""Objects: their stored form and what the server decides about them."""
