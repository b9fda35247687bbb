"""Role-based access: rules, who has which, what follows the store, what a fresh server starts with."""
