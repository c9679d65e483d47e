"""A pytest plugin: one suite of tests for simulated shoes, a real kernel, and real hardware.

A test asks for the fixture ``shoe_bench`` and has a shoe, a table that it deals to, a way to give
commands, and the events that come of them:

    def test_a_round_has_an_outcome(shoe_bench):
        shoe_bench.commands.give("place_your_bets")
        shoe_bench.commands.give("no_more_bets")
        shoe_bench.shoe.draw(4)
        shoe_bench.table.play("round.settled")
        assert shoe_bench.events.only("round.outcome").data["winner"] in ("player", "banker", "tie")

``pytest`` deals to a simulated shoe, ``pytest --shoe-port /dev/card-shoe/SH-0042`` to that device.
The plugin starts ``shoectl run`` and speaks to its socket; it imports nothing of ``shoe_ctl``.

* ``plugin``: the options, the markers, the fixture, what a report says.
* ``bench``: one shoe at one table for one test, from a known state to its end.
* ``shoe``: the shoe under test, a simulated one or a device.
* ``daemon``: a daemon of the test's own, and its configuration.
* ``table``: commands, the status, and ordinary play.
* ``events``: the events as they come, and those that nobody asked for.
* ``wire_report``: the bytes of a shoe for a report.
"""
