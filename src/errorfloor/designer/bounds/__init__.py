"""Lower bounds of eigenvalues: what is proved of the two least levels before any noise is at hand.

====================  ==========================================================================================
``crouzeix_raviart``    on a mesh, from elements that are piecewise linear
``enclosure``           on anything, from a box around it in which the coordinates are independent: sums over lines
``residual``            from a trial function: its residual above a second level that the others bound
====================  ==========================================================================================
"""
