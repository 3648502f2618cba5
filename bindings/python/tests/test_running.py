"""Evaluations that wait: signals, asyncio, and threads."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from rego_platform import Policies, RegoError, TimedOutError

IMAGE = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"
# It computes for minutes, sleeps in a host function, or waits for the service.
TEXT = """package p

deny contains "computed" if {
    input.do == "compute"
    some i in numbers.range(1, 100000)
    some j in numbers.range(1, 100000)
    i + j == 0
}

deny contains "slept" if {
    input.do == "sleep"
    acme.sleep(3)
}

deny contains "waited" if {
    input.do == "wait"
    not platform.discover(input.image, "").references
}

names contains result.name if {
    input.do == "list"
    some result in platform.evidence({"workflow_name": [input.name]}).results
}
"""
QUERY = "data.p.deny"
WAITS = ["compute", "sleep", "wait"]
# From the signal or the cancellation to the end.
LIMIT = 1


@pytest.fixture
def policies(slow):
    functions = {"acme.sleep": lambda seconds: time.sleep(seconds) is None}
    return Policies.load(texts={"p.rego": TEXT}, functions=functions, service=slow, allow_warnings=True)


@pytest.fixture(autouse=True)
def interrupts():
    """Has SIGINT raise, which a shell turns off for jobs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)



def interrupted(operation):
    """Returns the seconds from Ctrl-C to the end of an operation that it ends."""
    sent = []

    def interrupt():
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        operation()
    ended = time.perf_counter()
    thread.join()
    return ended - sent[0]


@pytest.mark.parametrize("do", WAITS)
def test_ctrl_c_ends_an_evaluation(policies, do):
    input = {"do": do, "image": IMAGE}
    assert interrupted(lambda: policies.evaluate(QUERY, input)) < LIMIT
    assert interrupted(lambda: policies.gate({"a.json": input})) < LIMIT
    # Nothing of it is left that disturbs the next one.
    assert policies.evaluate(QUERY, {"do": "nothing"}) == []


def test_ctrl_c_ends_a_call(slow):
    assert interrupted(lambda: slow.call("discover", IMAGE, "")) < LIMIT


def test_a_signal_whose_handler_raises_nothing_ends_nothing(policies):
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(time.perf_counter()))
    try:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        assert policies.evaluate("data.p.names", {"do": "list", "name": "nobody"}) == []
        ended = time.perf_counter()
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    # The handler ran while the evaluation waited.
    assert seen and ended - seen[0] > 0.3


@pytest.mark.parametrize("do", WAITS)
def test_a_cancelled_task_ends_its_evaluation(policies, do):
    input = {"do": do, "image": IMAGE}

    async def cancelled(coroutine):
        task = asyncio.create_task(coroutine)
        await asyncio.sleep(0.3)
        began = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.perf_counter() - began

    assert asyncio.run(cancelled(policies.evaluate_async(QUERY, input))) < LIMIT
    assert asyncio.run(cancelled(policies.gate_async({"a.json": input}))) < LIMIT


def processor_time(seconds):
    """Returns the processor time that this process takes in some seconds."""
    began = time.process_time()
    time.sleep(seconds)
    return time.process_time() - began


def test_a_cancelled_evaluation_computes_no_more(policies):
    async def cancelled():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(policies.evaluate_async(QUERY, {"do": "compute"}), 0.3)

    asyncio.run(cancelled())
    time.sleep(LIMIT)
    assert processor_time(0.5) < 0.25
    assert interrupted(lambda: policies.evaluate(QUERY, {"do": "compute"})) < LIMIT
    time.sleep(LIMIT)
    assert processor_time(0.5) < 0.25


def test_waiting_evaluations_hold_no_thread_and_take_the_time_of_one(policies):
    async def evaluate(name):
        return await policies.evaluate_async("data.p.names", {"do": "list", "name": name})

    async def many(names):
        began = time.perf_counter()
        tasks = [asyncio.create_task(evaluate(name)) for name in names]
        await asyncio.sleep(0.5)
        threads = len(os.listdir("/proc/self/task"))
        assert await asyncio.gather(*tasks) == [[]] * len(names)
        return time.perf_counter() - began, threads

    # Calls that differ, so that none of them is shared. The first evaluation starts threads and connections.
    asyncio.run(many(["first"]))
    one, of_one = asyncio.run(many(["one"]))
    all, of_all = asyncio.run(many([f"name {number}" for number in range(64)]))
    # One after the other, they would take 64 times as long.
    assert one >= 3 and all <= 4 * one, (one, all)
    # The pool has a thread for each core.
    assert of_all <= of_one + os.cpu_count()


def test_a_timeout_is_pythons_too(policies):
    with pytest.raises(TimeoutError, match="timed out after 200ms") as raised:
        policies.evaluate(QUERY, {"do": "compute"}, timeout=0.2)
    assert isinstance(raised.value, TimedOutError) and raised.value.kind == "timed-out"


def test_results_and_errors_are_those_of_the_same_evaluation_without_asyncio(policies):
    async def both():
        results = [
            policies.evaluate_async(QUERY, {"do": "nothing"}),
            policies.evaluate_async("data.p.missing"),
            policies.evaluate_async("data.p.deny +"),
        ]
        return await asyncio.gather(*results, return_exceptions=True)

    found = asyncio.run(both())
    assert found[0] == policies.evaluate(QUERY, {"do": "nothing"}) == []
    for query, error in zip(["data.p.missing", "data.p.deny +"], found[1:], strict=True):
        with pytest.raises(RegoError) as raised:
            policies.evaluate(query)
        assert (type(error), str(error)) == (type(raised.value), str(raised.value))


def test_a_closed_loop_is_left_alone(policies):
    loop = asyncio.new_event_loop()
    task = loop.create_task(policies.evaluate_async(QUERY, {"do": "compute"}))
    loop.run_until_complete(asyncio.sleep(0.1))
    task.cancel()
    loop.close()
    assert asyncio.run(policies.evaluate_async(QUERY, {"do": "nothing"})) == []


def test_a_service_is_called_from_asyncio(slow):
    async def calls():
        calls = (slow.call_async("evidence", {"workflow_name": [name]}) for name in ("a", "b", "c"))
        return await asyncio.gather(*calls)

    began = time.perf_counter()
    found = asyncio.run(calls())
    assert [one["results"] for one in found] == [[], [], []]
    # One after the other, they would take nine seconds.
    assert time.perf_counter() - began < 6


def test_a_forked_process_evaluates_with_threads_of_its_own():
    policies = Policies.load(texts={"p.rego": "package p\n\ndeny contains \"x\" if input.x\n"})
    assert asyncio.run(policies.evaluate_async("data.p.deny", {"x": 1})) == ["x"]
    assert policies.evaluate("data.p.deny", {"x": 1}) == ["x"]
    forked = multiprocessing.get_context("fork")
    results = forked.SimpleQueue()

    def child():
        results.put(policies.evaluate("data.p.deny", {"x": 1}))
        results.put(asyncio.run(policies.evaluate_async("data.p.deny", {"x": 1})))
        results.put(policies.gate({"a.json": {}})["outcome"])

    process = forked.Process(target=child)
    process.start()
    process.join(30)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode == 0
    assert [results.get() for _ in range(3)] == [["x"], ["x"], "passed"]


def test_a_program_that_ends_waits_for_its_functions():
    program = """
import asyncio, time
from rego_platform import Policies
functions = {"acme.sleep": lambda seconds: time.sleep(seconds) or print("slept")}
policies = Policies.load(texts={"p.rego": "package p\\n\\nx := acme.sleep(1)\\n"}, functions=functions)
try:
    asyncio.run(asyncio.wait_for(policies.evaluate_async("data.p.x"), 0.3))
except asyncio.TimeoutError:
    print("timed out")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "timed out\nslept\n", "")
