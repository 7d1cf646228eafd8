"""Standing questions: a figure for every period to come, priced and charged once for all of them.

``question`` is what is asked, ``horizon`` the periods and their price, ``block`` some periods in a row with one charge
and one joint noise, ``period`` one of them as it is released and kept, ``table`` the figures with their totals,
``following`` what a caller holds. ``standing`` begins and lists them, ``price`` says what they cost.
"""
