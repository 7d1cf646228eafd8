"""The objective ``error`` (the paper's P1): the largest Tr I⁻¹ under a cap.

``ascent`` climbs from several starts; ``chord`` has the longest chord, which is what Tr I⁻¹ can approach without a cap.
"""
