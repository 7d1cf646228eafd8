"""What was computed last is kept, and no more than that."""

from concurrent.futures import ThreadPoolExecutor

from errorfloor.noise.recent import Recent


def test_the_results_used_last_are_kept_and_the_others_computed_again():
    computed = []

    def square(n):
        return kept.find(n, lambda: computed.append(n) or n * n)

    kept = Recent(kept=2)
    assert [square(n) for n in (1, 2, 1, 3, 1, 2)] == [1, 4, 1, 9, 1, 4]
    assert computed == [1, 2, 3, 2]  # 2 had made room for 3


def test_threads_share_results_without_a_mistake():
    kept = Recent(kept=3)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: kept.find(n % 5, lambda: n % 5), range(2000)))
    assert found == [n % 5 for n in range(2000)]
