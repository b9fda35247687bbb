"""What single types do beyond what all types do."""
