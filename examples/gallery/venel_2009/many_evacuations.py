"""
Many evacuations: a band instead of a curve
===========================================

In the crowd of Venel 2009, section 4.2, people start at random positions, so one run is
one sample. A study runs the same room with ten seeds, with and without people who slow
down behind others. This program uses threads; processes would need a protected main
part, see :doc:`/sweeps`.
"""

from concurrent.futures import ThreadPoolExecutor

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo

room = jo.scenarios.load("venel_2009", settings=["problem.groups.0.n=24", "run.h=0.1"])
study = jo.study.Study(
    room,
    over=jo.study.grid({"problem.behaviour.kind": ["plain", "inhibition"]}),
    repeat=10,
    measures=["evacuation_time", "flow"],
    curves=["leaving_times"],
    seed=1,
)
with ThreadPoolExecutor(2) as threads:
    results = jo.study.sweep(study, executor=threads)
for case, name in enumerate(["walk on", "slow down"]):
    time = results.summary("evacuation_time", case)
    print(f"{name}: {time.mean:.1f} s, 95 % interval {time.low:.1f} to {time.high:.1f} s")

# %%
# At each time, the band contains nine of the ten runs, and the line is the median:
t = np.linspace(0.0, 15.0, 200)
inside = {
    name: jo.analysis.people_inside(results.curves("leaving_times", case), t)
    for case, name in enumerate(["walk on", "slow down"])
}
jo.viz.quantile_band(t, inside, names=("$t$ (s)", "people inside"))

# %%
# The mean flow and its 95 % confidence interval, as a function of the number of runs
# :math:`n`. The interval shrinks like :math:`1 / \sqrt{n}`, and a rule can end a study
# when it is narrow enough.
counts = [3, 5, 7, 10]
flows = {
    name: [results["flow"][results["case"] == case][:n] for n in counts]
    for case, name in enumerate(["walk on", "slow down"])
}
jo.viz.mean_curve(counts, flows, names=("runs", "people a second"))
plt.ylim(bottom=0.0)
