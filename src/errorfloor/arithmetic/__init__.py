"""The arithmetic of answers, without a database: the same bits on every machine.

``polynomial`` has the exact polynomials that numbers of a row are written as, ``arrow`` whole sums as arrays of one or
two words, ``double_words`` numbers of twice the precision, ``double_functions`` the functions of formulas in these. A
new function of a formula begins in ``double_functions``.
"""
