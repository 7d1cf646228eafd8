"""P1: the largest Tr I⁻¹ under a cap."""
