"""All claims, in the order in which the source makes them."""

from collections.abc import Callable

from paper import (
    bounded,
    chord,
    discussion,
    dynamic,
    information,
    privacy,
    scalar_queries,
    stationarity,
    unbounded,
    weighted,
)
from paper.model import Claim

Progress = Callable[[int, int, str], None]

ORDER: tuple[Callable[[], Claim], ...] = (
    # 2 Background and problem formulation
    unbounded.assumption_two,
    information.unbiased_bound,
    information.biased_bound,
    information.density_of_answer,
    information.worst_entry,
    chord.problem_one,
    information.data_processing,
    information.side_information,
    information.convexity,
    unbounded.problems_three_and_four,
    # 3 Privacy-preserving policy
    chord.theorem_one,
    stationarity.theorem_two,
    stationarity.sign_of_derivative,
    bounded.smart_meter,
    bounded.corollary_one,
    bounded.corollary_two_floor,
    bounded.corollary_two_quality,
    bounded.after_corollary_two,
    scalar_queries.averaging,
    scalar_queries.corollary_three,
    weighted.corollary_four,
    weighted.figure_one,
    scalar_queries.variance_query,
    scalar_queries.corollary_five,
    unbounded.theorem_three,
    unbounded.corollary_six,
    # 4 Extensions to dynamic estimation
    dynamic.dynamic_bound,
    dynamic.theorem_four,
    dynamic.remark_eight,
    dynamic.traffic_formulas,
    dynamic.traffic_growth,
    # 5 Discussion
    discussion.mutual_information,
    discussion.other_losses,
    privacy.laplace_proposition,
    discussion.equal_quality,
    privacy.entropies,
    privacy.gaussian_proposition,
    privacy.figure_two,
    # Appendix
    information.trace_inequality,
)


def claims(progress: Progress | None = None) -> list[Claim]:
    """Compute every claim; ``progress(done, total, name)`` is called after each.

    >>> ORDER[0]().where, ORDER[-1]().where
    ('Assumption 2 (iii) (label assum:1)', 'Proposition 5 (appendix)')
    """
    found = []
    for done, build in enumerate(ORDER, start=1):
        found.append(build())
        if progress is not None:
            progress(done, len(ORDER), found[-1].where)
    return found
