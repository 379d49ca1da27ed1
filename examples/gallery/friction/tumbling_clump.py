"""
A tumbling clump
================

A rigid clump of balls in the shape of a T turns about its middle axis of inertia. Such a
rotation is unstable: the clump turns over, again and again (this is the effect that
Dzhanibekov saw in orbit). No contact and no friction is involved: the picture checks the
free rotation of clumps. Energy and angular momentum are conserved to round-off, because
each step solves the rotation by parts that conserve both.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import EllipseCollection
from scipy.spatial.transform import Rotation

import jostle as jo
from jostle._tools.colours import BLACK, BLUE, GREEN, PALE_BLUE, PALE_ORANGE, VERMILION

bar = np.stack([np.zeros(7), np.linspace(-0.9, 0.9, 7), np.zeros(7)], axis=1)
stem = np.stack([np.linspace(0.3, 1.2, 4), np.zeros(4), np.zeros(4)], axis=1)
arms, radius = np.concatenate([bar, stem]), 0.22
arms -= arms.mean(axis=0)  # q is the centre of mass
clump = jo.Clumps([(arms, radius)])
moments = np.zeros((3, 3))  # of a clump of mass 1
for arm in arms:
    moments += ((arm @ arm + 0.4 * radius**2) * np.eye(3) - np.outer(arm, arm)) / 11
middle = int(np.argsort(moments.diagonal())[1])
spin0 = np.full(3, 0.05)
spin0[middle] = 3.0
free = jo.Motion(q0=[[0.0, 0.0, 0.0]], spin0=[spin0], within=clump)
sol = jo.solve(free, jo.Maury(), t=18.0, h=0.02, every=0.04)

turn = Rotation.from_quat(np.roll(sol.orientation[:, 0], -1, axis=1))  # x, y, z, w
own = turn.inv().apply(np.array(sol.spin[:, 0]))  # spin about the axes of the clump
momentum = turn.apply(own @ moments)
energy = sol.energy().kinetic
drift = np.abs(momentum - momentum[0]).max() / np.linalg.norm(momentum[0])
lost = np.abs(energy / energy[0] - 1.0).max()
flips = int((np.diff(np.sign(own[:, middle])) != 0).sum())

figure = plt.figure(figsize=(10.5, 5.6), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(1, 1.2))
first = int(np.argmax(own[:, middle] < 0.0))
for axis, k in zip(top.subplots(1, 6), first + np.arange(-20, 21, 8), strict=True):
    places = sol.places(k)
    order = np.argsort(places[:, 2])
    colours = np.array([PALE_BLUE] * 7 + [PALE_ORANGE] * 4)[order]
    size = np.full(11, 2 * radius)
    balls = EllipseCollection(
        size,
        size,
        np.zeros(11),
        units="xy",
        offsets=places[order][:, :2],
        transOffset=axis.transData,
        facecolors=colours,
        edgecolors="0.3",
        linewidths=0.5,
    )
    axis.add_collection(balls)
    axis.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal", xticks=[], yticks=[])
    axis.set_title(f"$t = {sol.t[k]:.2f}$ s")
axis = bottom.subplots()
for component, name, colour in zip(own.T, "xyz", (VERMILION, BLUE, GREEN), strict=True):
    axis.plot(sol.t, component, color=colour, label=f"about its {name} axis")
axis.axhline(0.0, color=BLACK, linewidth=0.5)
axis.set(xlabel="time (s)", ylabel="angular velocity (rad/s)")
axis.legend(frameon=False, loc="upper center")
