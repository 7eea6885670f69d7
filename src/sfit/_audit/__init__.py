"""The audit: everything that a careful analyst would run on a fitted model, in one document."""
