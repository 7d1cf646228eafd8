"""Problems whose best noise is known in closed form."""
