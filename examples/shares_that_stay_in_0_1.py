"""A share that is published with noise and is still a share: never below 0, never above 1.

Noise that does not depend on the value would have to point inwards at the ends. A policy that sees the value keeps the
answer in the set, and its certificate says how much less information another policy could give away at most.
"""

import sys
from pathlib import Path

import numpy as np

import errorfloor as ef
from errorfloor.floors.words import times_in_hundred
from errorfloor.plots import canvas, save


def main(folder: Path) -> Path:
    """Design the policy, draw from it, and say what it promises."""
    policy = ef.design_answer(ef.Interval(0, 1), ef.Interval(0, 1), max_loss=0.02, objective="worst")
    truth = np.array([0.0, 0.02, 0.5, 0.97, 1.0])
    drawn = policy.sample(np.repeat(truth, 1000), rng=1).reshape(5, 1000)
    assert ((drawn >= 0) & (drawn <= 1)).all()
    print("true share                 ", "  ".join(f"{share:5.2f}" for share in truth))
    print("mean of 1,000 answers      ", "  ".join(f"{share:5.2f}" for share in drawn.mean(axis=1)))
    errors = np.sqrt(((drawn - truth[:, None]) ** 2).mean(axis=1))
    print("their root-mean-square error", " ".join(f"{error:5.2f} " for error in errors))
    print(f"at most {np.sqrt(0.02):.3f} was asked for, whatever the true share")
    known = policy.certificate
    print(f"information at most {known.largest_information:.1f}; no policy has less than {known.lower_bound:.1f}")
    floor = policy.floor(ranges=(0, 1))
    told = floor.distinguish(0.05)
    print(f"two shares 0.05 apart can be told apart at most {times_in_hundred(told)} times in 100 from one answer")
    clamped = np.clip(ef.design(ef.Interval(-0.4, 0.4)).sample(1000, rng=1), 0, 1)
    unmoved = 100 * (clamped == 0).mean()
    print(f"(noise that is clamped afterwards publishes a true 0 as exactly 0 in {unmoved:.0f} % of cases)")
    shares = np.linspace(0, 1, 401)
    figure, (above, below) = canvas(2, 1, width=6.8, height=2.6, sharex=True)
    above.stackplot(shares, policy.law(shares).T, labels=[f"{answer:.2f}" for answer in policy.cells.middle])
    above.set_ylabel("probability of each answer")
    below.plot(shares, policy.information(shares))
    below.axhline(policy.largest_information, color="#888888", linestyle="--", linewidth=1)
    below.set_ylim(0, 1.2 * policy.largest_information)
    below.set_ylabel("information")
    below.set_xlabel("true share")
    return save(figure, folder / "shares_that_stay_in_0_1.png")


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
