"""What things are: chips, models and claims as facts with sources."""
