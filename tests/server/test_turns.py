"""Whoever asks large questions waits for others who do, and for nobody else."""

import asyncio

import pytest

from errorfloor.access.failures import DoorError
from errorfloor.access.threads import LARGE, Threads, Turns
from serving import served


async def known_as_large(turns, *askers):
    for asker in askers:
        turns.end(await turns.begin(asker), asker, 4 * LARGE)


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


def test_large_questions_of_many_askers_have_one_seat_together_and_small_ones_all_the_others():
    async def scene():
        turns = Turns(3, 8)
        await known_as_large(turns, "a", "b", "c")
        assert await turns.begin("a")
        waiting = [asyncio.create_task(turns.begin(asker)) for asker in "bc"]
        await settled()
        assert not any(one.done() for one in waiting)
        assert [await turns.begin("small"), await turns.begin("smaller")] == [False, False]
        turns.end(True, "a", LARGE)
        await settled()
        assert [one.done() for one in waiting] == [True, False]
        turns.end(True, "b", LARGE)
        assert await waiting[1]

    asyncio.run(scene())


def test_those_who_ask_large_questions_leave_half_of_the_places_to_others():
    async def scene():
        turns = Turns(1, 4)
        await known_as_large(turns, "a", "b", "c", "d")
        await turns.begin("a")
        waiting = [asyncio.create_task(turns.begin(asker)) for asker in "bc"]
        await settled()
        with pytest.raises(DoorError, match="too many questions are waiting"):
            await turns.begin("d")
        waiting += [asyncio.create_task(turns.begin(asker)) for asker in ("small", "smaller")]
        await settled()
        with pytest.raises(DoorError, match="too many questions are waiting"):
            await turns.begin("one more")
        for one in waiting:
            one.cancel()

    asyncio.run(scene())


def test_work_without_an_asker_is_never_taken_for_large():
    async def scene():
        turns = Turns(3, 8)
        await known_as_large(turns, "")
        assert await turns.begin("") is False

    asyncio.run(scene())


def test_a_place_that_was_given_up_is_free_again():
    async def scene():
        turns = Turns(1, 1)
        first = await turns.begin("a")
        given_up = asyncio.create_task(turns.begin("b"))
        await settled()
        given_up.cancel()
        await settled()
        waiting = asyncio.create_task(turns.begin("c"))
        await settled()
        turns.end(first)
        assert await waiting is False

    asyncio.run(scene())


def test_what_a_question_took_is_its_work_before_anything_private_is_read():
    from errorfloor.access.course import Course
    from errorfloor.access.grid import COARSE

    def work():
        sum(range(10**6))
        course.start(0.01)
        before = course.thought
        sum(range(10**6))
        return before

    course = Course(COARSE, time_limit=5.0)
    threads = Threads(1, waiting=1, time_limit=5.0)
    assert asyncio.run(threads.run(work, course)) == course.thought > 0
    threads.close()


def test_of_all_large_replies_one_part_is_written_at_a_time_and_questions_come_in_between():
    writing, most, seen = [], [], []

    async def parts(name, count):
        for number in range(count):
            writing.append(name)
            most.append(len(writing))
            await asyncio.sleep(0.001)
            writing.remove(name)
            yield name, number

    async def read(threads, name):
        seen.extend([part async for part in threads.paced(parts(name, 4))])

    async def scene():
        threads = Threads(1, waiting=1, time_limit=5.0)
        await asyncio.gather(*(read(threads, name) for name in "abc"))
        threads._turns.busy = 1  # somebody's question is under way
        begin = asyncio.get_running_loop().time()
        await read(threads, "d")
        return asyncio.get_running_loop().time() - begin

    beside = asyncio.run(scene())
    assert max(most) == 1
    for name in "abcd":
        assert [part for part in seen if part[0] == name] == [(name, number) for number in range(4)]
    assert beside >= 2 * 4 * 0.001  # each part is followed by a rest of its own length


def test_a_reply_that_is_given_up_lets_the_next_be_written():
    async def parts():
        for _ in range(3):
            yield b"part"

    async def scene():
        threads = Threads(1, waiting=1, time_limit=5.0)
        given_up = threads.paced(parts())
        assert await anext(given_up) == b"part"
        await given_up.aclose()
        assert [part async for part in threads.paced(parts())] == [b"part"] * 3

    asyncio.run(scene())


def test_questions_over_http_wait_by_their_tokens(database, tmp_path, monkeypatch):
    seen = []
    begin = Turns.begin

    async def noted(self, asker):
        seen.append(asker)
        return await begin(self, asker)

    monkeypatch.setattr(Turns, "begin", noted)
    with served(database, tmp_path) as server:
        for role in ("reader", "analyst"):
            assert server.client(role).post("/v1/price", json={"sql": "SELECT count(*) FROM pay"}).status_code == 200
    assert len({asker for asker in seen if asker}) == 2
