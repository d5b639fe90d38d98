"""One call, supervised: send it to the ranks, wait for every answer, or say exactly what went wrong.

The kernel waits on the ranks' lines and looks at the record every few milliseconds: who is dead, who waits for whom,
who has not moved. Nothing depends on a rank's cooperation. When something is wrong it lets the others come to rest
for a moment, so that the verdict can say who was waiting for what, and then gives up the whole call.
"""

import time

from . import reports
from .prints import show_prints
from .progress import Progress
from .pulse import Pulse
from .record import (
    CURRENT,
    DONE,
    EVENTS,
    LINE,
    MOVED,
    RECEIVING,
)
from .rounds import clocks_of
from .sight import Sight
from .verdicts import Interrupted
from .waits import hopeless

TICK = 0.02  # seconds between two looks at the record
START_UP = 30.0  # seconds that a rank may take, beyond the time limit, to load its function and what that imports
SETTLE = 0.25  # at most this long the others may come to rest after a failure
# seconds before its limit a silent rank is asked where it is: C code or a stop keeps it from answering
ASK_BEFORE = 0.3
AT_MOST = 10  # times the limit a rank may be silent, however little of a core it got


class Supervisor:
    """Carries one call on `ranks` ranks of `world`.

    timeout: longest time in seconds that a rank which others wait for may show no event.
    story: what the probe foretold (`reports.Story`), to name rounds and chunks.  quiet: do not show what ranks print.
    virtual: how many ranks the one process plays, when it plays all of them.  bar: show one when the call takes long.
    """

    def __init__(self, world, ranks, timeout, story=None, quiet=False, virtual=0, bar=True):
        self.world, self.timeout = world, timeout
        self.story, self.quiet, self.virtual = story or reports.Story(None), quiet, virtual
        self.members = range(ranks)
        self.replies = {}
        self.raised = {}
        self.events: list = []  # per rank (events, how many more were not kept), once the call is over
        self.begin = time.monotonic()
        self._last_look = self._last_states = None
        self._last_moved = {}
        self._pulses = {}  # rank -> Pulse, of those that have been silent for almost their limit
        self._bar, self._shows_bar = None, bar and not quiet

    def call(self, commands, collect=None):
        """The answers of all ranks to `commands`, in rank order. Raises the one verdict that fits, else.

        commands: one per rank, or a function that makes them for the world when its ranks are up. collect(world,
        answers) is called while the ranks still stand.
        """
        world = self.world
        with world.lock:
            self.ranks = _ready(world)[: len(self.members)]
            self.blocks = [world.record.blocks[rank] for rank in self.members]
            self.sight = Sight(self.blocks)
            world.calls += 1
            if callable(commands):
                commands = commands(world)
            world.used = self.begin = time.monotonic()
            started, world.calling = False, True
            try:
                for rank, command in zip(self.ranks, commands, strict=True):
                    rank.channel.queue({**command, "call": world.calls})
                self._await("ready", self.timeout + START_UP)
                for rank in self.ranks:
                    rank.channel.queue("go")
                started = True
                with self._progress() as self._bar:
                    self._await("done", self.timeout)
                self._show_prints()
                self.events = [block.copy_events() for block in self.blocks]
                unread = self.sight.unread()
                if collect is not None:
                    collect(world, [self.replies[rank] for rank in self.members])
                world.calling = False
                self._keep_clean(unread)
                return [self.replies[rank] for rank in self.members], unread
            except KeyboardInterrupt:
                world.replace()
                raise _interrupted("the next call starts on fresh ranks") from None
            except BaseException:
                if started:  # before the ranks go, and their record with them
                    self.events = [block.copy_events() for block in self.blocks]
                world.replace()
                raise
            finally:
                world.used = time.monotonic()

    def _await(self, word, limit):
        self._limit = limit
        pending = set(self.members)
        next_look = time.monotonic() + TICK
        while pending:
            self.world.poll(TICK)
            for rank in sorted(pending):
                message = self.ranks[rank].channel.receive()
                if message is None:
                    continue
                pending.discard(rank)
                if message["say"] == word:
                    self.replies[rank] = message
                else:
                    self.raised[rank] = message
            if self.raised or any(not rank.channel.open for rank in self.ranks):
                self._give_up()
            if pending and time.monotonic() >= next_look:
                self._look(pending)
                if self._bar is not None and self._shows_bar:
                    self._bar.reach(self._steps() - self._bar_start)
                next_look = time.monotonic() + TICK

    def _progress(self):
        self._bar_start = self._steps()
        ranks = f"{self.virtual} virtual ranks" if self.virtual else f"{len(self.members)} ranks"
        total = None if self.virtual else self.story.events
        return Progress(f"{self.story.name or 'a call'} on {ranks}", total, "steps" if self.virtual else "events")

    def _steps(self):
        """What there is to count: events, or all that moves where one process plays all ranks."""
        word = MOVED if self.virtual else EVENTS
        return sum(block.state[word] for block in self.blocks)

    def _look(self, pending):
        """Look at the record: deaths, deadlock, stalls."""
        if any(not rank.alive for rank in self.ranks):
            self._give_up()
        states = self.sight.states()
        if self._last_states is not None and hopeless(self.sight.unmoved(self._last_states, states), self._finished()):
            self._report_deadlock()
        self._last_states = states
        self._check_stall(states, pending)

    def _report_deadlock(self):
        """These waits cannot end; let the others come to rest, so that the words are the same in every run."""
        self._settle()
        if self.raised or any(not rank.alive for rank in self.ranks):
            self._give_up()  # these come first
        before, end = self.sight.states(), time.monotonic() + SETTLE
        stuck = {}
        while not hopeless(stuck, self._finished()) and time.monotonic() < end:
            self.world.poll(TICK / 4)
            stuck = self.sight.unmoved(before, self.sight.states())
        programs = [block.copy_events()[0] for block in self.blocks]
        clocks = clocks_of([mine["kind"].tolist() for mine in programs], [mine["peer"].tolist() for mine in programs])
        stuck = {rank: wait._replace(round=clocks[rank]) for rank, wait in stuck.items()}
        verdict = reports.deadlock(stuck, self._finished(), self.story, seconds=self.seconds)
        if verdict is not None:
            self._show_prints()
            raise verdict

    def _finished(self):
        return self.sight.done() - self.raised.keys()

    def _round(self, rank):
        return self.story.round(rank, self.blocks[rank].state[EVENTS])

    @property
    def seconds(self):
        """Since the call began."""
        return time.monotonic() - self.begin

    def _check_stall(self, states, pending):
        now = time.monotonic()
        for rank in self.members:
            moved = (states[rank][3], self.ranks[rank].channel.moved)
            if self._last_moved.get(rank, (None, now))[0] != moved:
                self._last_moved[rank] = (moved, now)
                self._pulses.pop(rank, None)
        quiet = [rank for rank in sorted(pending) if self._silent(rank, now, states)]
        if not quiet:
            return
        stuck = self.sight.stuck(states)
        busy = [rank for rank in quiet if rank not in stuck]
        acting = [rank for rank in busy if states[rank][0] != RECEIVING]
        if acting:
            self._report_stall(acting[0], stuck)
        for rank in busy:  # its message was begun, and has not come
            sender = states[rank][1]
            if sender in pending and sender not in quiet:
                continue
            if sender in pending and self.ranks[sender].where() is None:
                self._report_stall(sender, stuck)
            self._show_prints()
            raise reports.bad_frame(
                sender, rank, "never came, or not all of it", self._round(rank), self._waiting(stuck), self.seconds
            )

    def _silent(self, rank, now, states):
        """Whether a rank has shown nothing for its limit, though it could have; shortly before, ask where it is."""
        silence = now - self._last_moved[rank][1]
        last = min(ASK_BEFORE, self._limit / 2)
        if silence < self._limit - last:
            return False
        if rank not in self._pulses:
            self._pulses[rank] = Pulse(self.ranks[rank].process.pid)
            if rank not in self.sight.stuck(states):
                self.ranks[rank].ask()
        if silence <= self._limit:
            return False
        return self._pulses[rank].own_seconds() >= last or silence > AT_MOST * self._limit

    def _report_stall(self, rank, stuck):
        where = self.ranks[rank].where()
        current = self.blocks[rank].state[CURRENT]
        self._show_prints()
        raise reports.stall(
            current if current >= 0 else rank,
            where,
            self._limit,
            line=self.blocks[rank].state[LINE],
            round=self._round(rank),
            waiting=self._waiting(stuck),
            seconds=self.seconds,
        )

    def _waiting(self, stuck):
        """(rank, peer, chunk) of the ranks that wait, with the chunk the probe foretold."""
        return [
            (wait.rank, wait.peer, self.story.chunk(wait.rank, self.blocks[wait.rank].state[EVENTS]))
            for wait in stuck.values()
        ]

    def _settle(self):
        """Let the others run until each has answered, died, or waits for what cannot come."""
        end = time.monotonic() + SETTLE
        before = None
        while time.monotonic() < end:
            self.world.poll(0.002)
            for rank in self.members:
                message = self.ranks[rank].channel.receive()
                if message is not None and message["say"] == "raised":
                    self.raised[rank] = message
            states = self.sight.states()
            stuck = self.sight.stuck(states)
            gone = {rank for rank in self.members if rank in self.raised or not self.ranks[rank].alive}
            at_rest = all(
                rank in stuck
                or rank in gone
                or states[rank][0] == DONE
                or (states[rank][0] == RECEIVING and states[rank][1] in gone)  # half a message is all that came
                for rank in self.members
            )
            if at_rest and states == before:
                return stuck
            before = states
        return self.sight.stuck(self.sight.states())

    def _give_up(self):
        """A rank died or raised: say which, and who was waiting."""
        stuck = self._settle()
        dead = {rank: self.ranks[rank].process.exitcode for rank in self.members if not self.ranks[rank].alive}
        if not dead and not self.raised:  # the line closed before the system knew of the death
            self.ranks[0].process.join(1)
            for rank in self.members:
                if not self.ranks[rank].channel.open:
                    self.ranks[rank].process.join(1)
                    dead[rank] = self.ranks[rank].process.exitcode
        self._show_prints()
        waiting = [wait for wait in self._waiting(stuck) if wait[0] not in dead and wait[0] not in self.raised]
        facts = {"waiting": waiting, "seconds": self.seconds, "ranks": self.virtual or len(self.members)}
        verdicts = []
        for rank, code in sorted(dead.items()):
            current = self.blocks[rank].state[CURRENT]
            who = current if current >= 0 else rank
            verdicts.append(reports.death(who, code, self.story, self.blocks[rank].state[EVENTS], **facts))
        for rank, message in sorted(self.raised.items()):
            verdicts.append(reports.raised(rank, message, self.story, self.blocks[rank].state[EVENTS], **facts))
        raise reports.first(verdicts)

    def _keep_clean(self, unread):
        """Replace ranks that the next call must not meet: with messages on their links, or changed by learner code."""
        if unread or any(reply["dirty"] for reply in self.replies.values()):
            self.world.replace()
        else:
            for reply in self.replies.values():
                self.world.modules.update(reply["modules"])

    def _show_prints(self):
        if not self.quiet:
            show_prints(self.blocks, self.virtual)


def _ready(world):
    """The ranks of `world`, when they are up; an interrupt gives up the wait, and they go on starting."""
    try:
        return world.ready()
    except KeyboardInterrupt:
        raise _interrupted("the ranks were still starting") from None


def _interrupted(what):
    return Interrupted("the call was given up; your inputs are unchanged", what)
