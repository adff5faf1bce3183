"""The tables on stdout, RESULTS.md, results.png, and the figures of the last line."""

import statistics

from ours import BENCH

TITLES = {"inspectd": "inspectd", "awa": "awa", "pgqueuer": "pgqueuer", "procrastinate": "procrastinate",
          "absurd": "absurd", "pgq": "PgQ"}


class Spread:
    """Median, least and greatest of a figure over the rounds."""

    def __init__(self, values):
        self.values = sorted(values)
        self.median = statistics.median(values)

    @property
    def least(self):
        return self.values[0]

    @property
    def greatest(self):
        return self.values[-1]

    def text(self, digits=0):
        show = lambda value: f"{value:,.{digits}f}"
        return f"{show(self.median)} [{show(self.least)}–{show(self.greatest)}]"


def spread(figures, system, measure, key="rate"):
    values = [answer[key] for answer in figures.get(system, {}).get(measure, []) if answer.get(key) is not None]
    return Spread(values) if values else None


def table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def rate_rows(figures, systems, measure):
    rows = [["system", "jobs/s, median [min–max]", "of inspectd's"]]
    ours = spread(figures, "inspectd", measure)
    for system in systems:
        figure = spread(figures, system, measure)
        if figure:
            share = f"{figure.median / ours.median:.2f}" if ours else "–"
            rows.append([TITLES[system], figure.text(), share])
    return rows


def pickup_rows(figures, systems):
    rows = [["system", "commit → start p50, ms", "p99, ms", "call → start p50, ms", "p99, ms"]]
    for system in systems:
        found = [spread(figures, system, "pickup", key) for key in ("p50Ms", "p99Ms", "callP50Ms", "callP99Ms")]
        if found[0]:
            rows.append([TITLES[system], *[figure.text(1) if figure else "–" for figure in found]])
    return rows


def floor_rows(figures):
    rows = [["bare SQL", "jobs/s, median [min–max]", "inspectd's share of it"]]
    ours = spread(figures, "inspectd", "drain")
    for title in figures.get("floor", {}):
        figure = spread(figures, "floor", title)
        rows.append([title, figure.text(), f"{ours.median / figure.median:.2f}" if ours else "–"])
    return rows


def crash_rows(figures, systems):
    rows = [["system", "kill -9 → all ten jobs started again, s"]]
    for system in systems:
        for answer in figures.get(system, {}).get("crash", []):
            if "skipped" in answer:
                text = f"not measured: {answer['skipped']}"
            elif answer["seconds"] is None:
                text = f"{answer['again']} of 10 after {answer['limit']} s"
            else:
                text = f"{answer['seconds']:.1f}"
            rows.append([TITLES[system], text])
    return rows


def summarise(figures, no_jobs):
    """The figures that a reader of the last line wants."""
    ours = spread(figures, "inspectd", "drain")
    rivals = [name for name in figures if name not in ("inspectd", "floor") and name not in no_jobs]
    drains = {name: spread(figures, name, "drain") for name in rivals}
    drains = {name: figure.median for name, figure in drains.items() if figure}
    floors = {title: spread(figures, "floor", title).median for title in figures.get("floor", {})}
    summary = {}
    if ours:
        summary["ours"] = round(ours.median)
    if drains:
        peer = max(drains, key=drains.get)
        summary.update(fastestPeer=round(drains[peer]), peer=peer)
        if ours:
            summary["ratio"] = round(ours.median / drains[peer], 3)
    if floors:
        best = max(floors, key=floors.get)
        summary.update(floor=round(floors[best]), floorIs=best)
        if ours:
            summary["ofFloor"] = round(ours.median / floors[best], 3)
    everyone = ["inspectd", *rivals]
    enqueue = {name: spread(figures, name, "enqueue") for name in everyone}
    summary["enqueue"] = {name: round(figure.median) for name, figure in enqueue.items() if figure}
    summary["pickup"] = {}
    for name in everyone:
        p50, p99 = (spread(figures, name, "pickup", key) for key in ("p50Ms", "p99Ms"))
        if p50:
            summary["pickup"][name] = {"p50Ms": round(p50.median, 2), "p99Ms": round(p99.median, 2)}
    crash = {name: figures.get(name, {}).get("crash", [{}])[0].get("seconds") for name in everyone}
    if any(crash.values()):
        summary["crash"] = {name: seconds and round(seconds, 1) for name, seconds in crash.items()}
    return summary


def plot(path, figures, systems, summary):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = [(TITLES[name], spread(figures, name, "drain"), "tab:blue" if name == "inspectd" else "tab:gray")
            for name in systems]
    if "floorIs" in summary:
        bars.append(("bare SQL", spread(figures, "floor", summary["floorIs"]), "tab:green"))
    bars = sorted((bar for bar in bars if bar[1]), key=lambda bar: bar[1].median)
    waits = [(TITLES[name], spread(figures, name, "pickup", "p50Ms"), spread(figures, name, "pickup", "p99Ms"))
             for name in systems]
    waits = sorted((wait for wait in waits if wait[1]), key=lambda wait: -wait[1].median)
    canvas, (left, right) = pyplot.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    medians = [figure.median for _, figure, _ in bars]
    errors = [[figure.median - figure.least for _, figure, _ in bars],
              [figure.greatest - figure.median for _, figure, _ in bars]]
    left.barh([name for name, _, _ in bars], medians, xerr=errors, color=[color for _, _, color in bars], capsize=3)
    left.set_title("Drain: jobs/s, median and range")
    left.xaxis.set_major_formatter("{x:,.0f}")
    names = [name for name, _, _ in waits]
    # A worker may be faster than the answer to the enqueueing call, which has no place on this scale.
    for place, label, color in ((1, "p50", "tab:blue"), (2, "p99", "tab:orange")):
        values = [max(0.05, wait[place].median) for wait in waits]
        right.scatter(values, names, label=label, color=color, zorder=3)
    right.set_xscale("log")
    right.grid(axis="x", alpha=0.4)
    right.set_title("Pickup by an idle worker: commit → start, ms")
    right.legend()
    canvas.savefig(path, dpi=110)


def caveats(facts):
    idle = sorted(facts["idle"])
    lines = [
        "- The program, the peers' clients and the server share the machine's cores, so a client that needs more of them "
        "leaves the server less.",
        "- The peers' handlers and most of their clients are Python, inspectd is compiled: these are rates of whole systems.",
        f"- A commit is cheap here: making a block of 8 kB durable takes {facts['fdatasync']:.0f} µs (median of 300). Where "
        "it takes longer, systems that commit for every job lose more than those that commit for a batch.",
        f"- Before each turn the processors were idle for {idle[len(idle) // 2]:.0%} (median; least {idle[0]:.0%}). Where "
        "that is well below 95 %, others were at work and the figures say little.",
        "- inspectd writes more for each job than the peers do: besides the job's state a result, a terminal event and a "
        "callback in the outbox, and at enqueue the part's row.",
    ]
    return "\n".join(lines)


METHOD = """\
The same job for all: a few bytes of payload (inspectd: the least that a request says, partner, workflow and one part by URL
with its digest), a handler that does nothing. In each round every system takes its turn on an
empty database of its own in one private server; each round begins with another system. Figures are medians over the rounds
with the least and the greatest.

- **Enqueue**: all jobs, in chunks of 1,000, by two producers that are connected, each chunk committed.
- **Drain**: from the first start to the last finish as the system's own tables (inspectd: its benchmark) have it, with as
  many processes as suit each. Every run is checked: each job was run once and is finished.
- **Pickup**: an idle worker and a producer in another process (inspectd: another connection); one job at a time after
  random pauses of 50 to 250 ms. From the answer to the enqueueing call, hence the commit, to the start of the handler, by
  one monotonic clock; below 0 where the worker was faster than the answer.
- **Crash**: ten jobs in hand, kill -9, a new worker at once, default timeouts; the time until all ten have been started again.
- **Bare SQL**: pgbench with prepared statements and the planner settings that the product's functions pin, on a database
  made by the migrations and filled by `insp.enqueue_many`. A claim (delete from `ready`, insert into `lease`) and a settle
  (delete from `lease`, bring `job` to 128, insert `step`, `event` and `callback`) write the same rows as `insp.claim` and
  `insp.settle`; each client has a partner of its own. *claim-and-settle* ends one batch and claims the next in one commit,
  as a worker does; *claim-then-settle* takes two. It has no worker, no handler and no limits and does not return the jobs'
  payloads, so it is more than a queue could do. The fastest of them is the floor.
"""


def write(folder, figures, facts, arguments, peers, no_jobs):
    """Prints the tables, writes the files, and returns the summary."""
    systems = [name for name in ["inspectd", *peers] if name in figures]
    summary = summarise(figures, no_jobs)
    sections = [("Enqueue", rate_rows(figures, systems, "enqueue")), ("Drain", rate_rows(figures, systems, "drain")),
                ("Bare SQL", floor_rows(figures)), ("Pickup", pickup_rows(figures, systems)),
                ("Crash", crash_rows(figures, systems))]
    sections = [(title, table(rows)) for title, rows in sections if len(rows) > 1]
    for title, text in sections:
        print(f"\n{title}\n\n{text}")
    print()
    if not summary.get("ratio") or not summary.get("ofFloor"):
        # Nothing to publish: what was there stays.
        return summary
    lines = [
        "# inspectd compared with other queues, and with bare SQL", "",
        "Written by `Tests/Peers/run.sh`; do not edit.", "",
        f"{facts['date']}, {facts['machine']}, PostgreSQL {facts['postgres']}; {arguments.jobs:,} jobs, rounds: "
        f"{arguments.rounds}, {facts['seconds'] / 60:.0f} minutes in all.", ""]
    lines += [
        f"inspectd drains {summary['ours']:,} jobs/s: {summary['ratio']:.2f} of the fastest peer's rate "
        f"({TITLES[summary['peer']]}, {summary['fastestPeer']:,}) and {summary['ofFloor']:.2f} of what bare SQL does "
        f"({summary['floor']:,}).", "",
        "![drain and pickup](results.png)", ""]
    for title, text in sections:
        lines += [f"## {title}", "", text, ""]
        if title == "Drain" and no_jobs & set(systems):
            lines += ["PgQ hands out batches of events and knows no single job: no claim, state, lease or retry of one. Its "
                      "rate shows what these cost, and it does not count as a peer.", ""]
    versions = [["system", "version", "set up"]]
    versions += [["inspectd", facts["versions"]["inspectd"], f"1 process, `{' '.join(BENCH)}`; `insp.enqueue_many`"]]
    versions += [[TITLES[name], facts["versions"].get(name, "–"), peers[name][1]] for name in systems if name in peers]
    lines += ["## Systems", "", table(versions), ""]
    lines += ["Server: " + ", ".join(f"`{name} = {value}`" for name, value in facts["settings"].items()) + "; the rest as "
              "Debian has it.", ""]
    gone = [f"- {TITLES.get(name, name)} could not be installed: {reason}" for name, reason in facts["missing"].items()]
    gone += [f"- {TITLES.get(name, name)} failed in {len(errors)} turns, last with: {errors[-1]}"
             for name, errors in facts["failures"].items()]
    skipped = {name: answers["pickup"][0]["skipped"] for name, answers in figures.items()
               if "skipped" in answers.get("pickup", [{}])[0]}
    gone += [f"- {TITLES[name]}: no pickup time, since {reason}" for name, reason in skipped.items()]
    if gone:
        lines += ["## What is missing", "", *gone, ""]
    lines += ["## Method", "", METHOD, "## Caveats", "", caveats(facts), ""]
    # Documents and faces are compared by scripts of their own, in this order.
    path = folder / "RESULTS.md"
    before = path.read_text() if path.exists() else ""
    kept = min((at for at in (before.find("\n## Documents\n"), before.find("\n## Faces\n")) if at >= 0), default=len(before))
    path.write_text("\n".join(lines).rstrip("\n") + "\n" + before[kept:])
    plot(folder / "results.png", figures, [name for name in systems if name not in no_jobs], summary)
    return summary
