"""The page in a real browser: it draws, plays, listens to keys and hands, and says who is who."""

import re

import numpy as np
import pytest
from browsing import facts, image, picked, place, play_faster, scrub, wait_until, wait_until_drawn

import jostle as jo
from jostle import viz
from jostle.viz import viewer as document
from rows import whole

WITHOUT_WEBGL = """
    const original = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind === "webgl2" ? null : original.call(this, kind, ...rest);
    };
"""
LOSE = """() => new Promise((done) => {
    const canvas = document.querySelector("#view canvas");
    canvas.addEventListener("webglcontextlost", () => setTimeout(done));
    window.loss = canvas.getContext("webgl2").getExtension("WEBGL_lose_context");
    loss.loseContext();
})"""
RESTORE = """() => new Promise((done) => {
    document.querySelector("#view canvas").addEventListener("webglcontextrestored", done);
    loss.restoreContext();
})"""
APART = """([first, second, pixels]) => {
    const [[a, b], [x, y]] = [viewer.place(first), viewer.place(second)];
    return Math.hypot(x - a, y - b) > pixels;
}"""
CONTROLS = ["view", "play", "frame", "speed", "colour", "forces", "light", "body", "whole", "theme", "", ""]
MORE = ["loop", "smooth", "curve", "trails", "grid", "low", "high", "film", "photo"]
NAMES = [
    "speed", "force", "pressure", "contacts", "radius", "mass", "body number", "x", "y", "velocity x", "velocity y"
]  # fmt: skip


@pytest.mark.parametrize("before", ["", WITHOUT_WEBGL], ids=["webgl", "plain canvas"])
def test_frames_are_drawn_and_differ(opened, pile, before):
    tab = opened(pile, before=before)
    first = image(tab)
    scrub(tab, 20)
    last = image(tab)
    white = np.array([255, 255, 255])
    assert (first != white).any(axis=2).mean() > 0.03
    assert (first != last).any(axis=2).mean() > 0.05
    between = (pile.pairs[-1] >= 0).all(axis=1)
    strong = np.argsort(np.where(between, pile.multipliers[-1], 0.0))[-4:]
    for i, j in pile.pairs[-1][strong].tolist():
        (a, b), (x, y) = place(tab, i), place(tab, j)
        red, green, blue = last[round((b + y) / 2), round((a + x) / 2)]
        assert red - 1.2 * green > 20, "a strong contact is an orange bar"
        assert blue < 120
    assert tab.locator("#message").is_visible() == bool(before)
    if before:
        assert "no WebGL 2" in tab.locator("#message").inner_text()


def test_discs_are_where_they_are_and_as_large_as_they_are(opened):
    """By the pixels alone: the moving disc is the dark one."""
    two = jo.Motion(q0=[[0.0, 0.0], [4.0, 1.0]], v0=[[0.0, 0.0], [0.0, 1e-9]], within=jo.Balls([2.0, 1.0]))
    tab = opened(jo.solve(two, jo.Maury(), t=1.0, h=1.0))
    scrub(tab, 1)
    seen = image(tab)
    dark = np.argwhere((seen[:, :, 0] < 70) & (seen[:, :, 2] < 120))
    row, column = dark.mean(axis=0)
    scale = np.hypot(*np.subtract(place(tab, 1), place(tab, 0))) / np.hypot(4.0, 1.0)
    assert len(dark) == pytest.approx(np.pi * scale**2, rel=0.1)
    tab.locator("#view").click(position={"x": column, "y": row})
    assert picked(tab) == 1
    tab.locator("#view").click(position={"x": column - 4.0 * scale, "y": row + scale})
    assert picked(tab) == 0
    tab.locator("#view").click(position={"x": 5, "y": 300})
    assert picked(tab) is None


@pytest.mark.parametrize("before", ["", whole(WITHOUT_WEBGL)], ids=["webgl", "plain canvas"])
def test_near_balls_hide_far_ones_and_are_picked(opened, two_balls, before):
    tab = opened(two_balls, before=before)
    scrub(tab, 10)
    for _ in range(12):  # down to the horizon, and to where y points away
        tab.keyboard.press("Shift+ArrowUp")
    front = place(tab, 0)
    for number, key in ((0, ""), (1, "Shift+ArrowLeft")):
        for _ in range(10 if key else 0):  # half a turn
            tab.keyboard.press(key)
        (x, y), (a, b) = place(tab, number), place(tab, 1 - number)
        tab.mouse.click(0.9 * x + 0.1 * a, 0.9 * y + 0.1 * b)
        assert picked(tab) == number
    assert front != place(tab, 0)


@pytest.mark.parametrize("before", ["", whole(WITHOUT_WEBGL)], ids=["webgl", "plain canvas"])
def test_a_large_ball_hides_what_is_behind_it_and_not_what_is_before(opened, before):
    q0 = np.array([[0.0, 0.0, 0.0], [2.6, -2.0, 0.0], [-2.6, 2.0, 0.0]])
    v0 = np.array([[0.0, 0.0, 0.0], [1e-9, 0.0, 0.0], [1e-9, 0.0, 0.0]])
    three = jo.Motion(q0=q0, v0=v0, within=jo.Balls([3.0, 0.2, 0.2]))
    tab = opened(jo.solve(three, jo.Maury(), t=1.0, h=1.0), before=before)
    scrub(tab, 1)
    dark = np.argwhere(image(tab)[:, :, 0] < 80)
    row, column = dark.mean(axis=0)
    assert len(dark) > 20
    assert [column, row] == pytest.approx(place(tab, 1), abs=4)  # only the one before it is seen
    for number, seen in ((1, True), (2, False)):
        tab.mouse.click(*place(tab, number))
        assert (picked(tab) == number) == seen


def test_it_plays_to_the_end_and_stops(opened, pile):
    tab = opened(pile)
    tab.locator("#play").click()
    assert tab.evaluate("viewer.playing")
    assert tab.locator("#play").inner_text() == "Pause"
    wait_until(tab, "() => viewer.shown > 0")
    play_faster(tab)
    wait_until(tab, "() => viewer.shown === 20 && !viewer.playing")
    assert tab.locator("#play").inner_text() == "Play"
    assert tab.locator("#time").inner_text() == "t = 1 · frame 21 of 21"
    tab.locator("#speed").select_option(index=3)
    tab.locator("#play").click()  # again, from the start
    wait_until(tab, "() => viewer.shown < 20")


def test_everything_can_be_done_with_keys(opened, pile):
    tab = opened(pile)
    tab.locator("#view").focus()
    for key, shown in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 20), ("Home", 0)]:
        tab.keyboard.press(key)
        wait_until(tab, "k => viewer.shown === k", shown)
    start = place(tab, 0)
    for key, undo in [("+", "-"), ("Shift+ArrowUp", "Shift+ArrowDown"), ("Shift+ArrowLeft", "Shift+ArrowRight")]:
        tab.keyboard.press(key)
        assert place(tab, 0) != pytest.approx(start, abs=1.0)
        tab.keyboard.press(undo)
        assert place(tab, 0) == pytest.approx(start, abs=0.01)
    tab.keyboard.press("+")
    tab.keyboard.press("0")
    assert place(tab, 0) == pytest.approx(start)
    tab.keyboard.press("f")
    assert not tab.locator("#forces").is_checked()
    names = []
    for _ in NAMES:
        tab.keyboard.press("c")
        names.append(tab.locator("#scale-name").inner_text().removesuffix(", square-root scale"))
    assert names == [*NAMES[1:], NAMES[0]]
    speed = tab.locator("#speed").input_value()
    tab.keyboard.press("]")
    assert float(tab.locator("#speed").input_value()) == 2 * float(speed)
    tab.keyboard.press(" ")
    assert tab.evaluate("viewer.playing")
    tab.keyboard.press(" ")
    assert not tab.evaluate("viewer.playing")


def test_every_control_is_reached_with_the_tab_key_shows_its_focus_and_has_a_name(opened, pile):
    tab = opened(pile, page={"title": "A pile"})
    reached, outlined = [], []
    for _ in CONTROLS:
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("() => document.activeElement.id"))
        outlined.append(tab.evaluate("() => getComputedStyle(document.activeElement).outlineStyle"))
    tab.keyboard.press("m")
    for _ in MORE:
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("() => document.activeElement.id"))
        outlined.append(tab.evaluate("() => getComputedStyle(document.activeElement).outlineStyle"))
    assert reached == CONTROLS + MORE
    assert set(outlined) == {"solid"}
    tree = tab.locator("body").aria_snapshot()
    for part in [
        'application "24 bodies in 2 dimensions', 'heading "A pile"', 'img "Colours: speed', 'button "Play"',
        'slider "Frame"', 'combobox "speed"', 'combobox "colour"', 'checkbox "forces"', 'spinbutton "body"',
        'button "Fit"', 'checkbox "loop"', 'checkbox "interpolate"', 'combobox "curve"', 'checkbox "axes"',
        'button "Save picture"',
    ]:  # fmt: skip
        assert part in tree


def test_controls_keep_their_own_keys(opened, pile):
    tab = opened(pile)
    scrub(tab, 7)
    slider = tab.get_by_role("slider", name="Frame")
    assert slider.get_attribute("aria-valuetext") == "t = 0.35, frame 8 of 21"
    slider.focus()
    tab.keyboard.press("ArrowRight")
    wait_until(tab, "() => viewer.shown === 8")
    tab.locator("#body").focus()
    tab.keyboard.type("10")
    assert picked(tab) == 10
    assert tab.locator("#picked-name").inner_text() == "Ball 10"
    tab.locator("#forces").focus()
    tab.keyboard.press(" ")
    assert not tab.evaluate("viewer.playing")
    assert not tab.locator("#forces").is_checked()
    tab.locator("#play").focus()
    tab.keyboard.press(" ")
    assert tab.evaluate("viewer.playing")
    tab.keyboard.press("Escape")
    assert picked(tab) is None


@pytest.mark.parametrize("k", [whole(0), 20])
def test_a_click_reads_the_numbers_of_a_body(opened, pile, k):
    tab = opened(pile)
    scrub(tab, k)
    for number in (0, 11, 23):
        tab.mouse.click(*place(tab, number))
        assert picked(tab) == number
        said = facts(tab)
        assert [float(x) for x in said["position"].split(", ")] == pytest.approx(pile.q[k, number], rel=1e-3)
        assert [float(x) for x in said["velocity"].split(", ")] == pytest.approx(pile.u[k, number], rel=1e-3, abs=1e-6)
        assert float(said["radius"]) == pytest.approx(pile.problem.within.sets[0].radii[number], rel=1e-3)
        touching = (pile.pairs[k] == number).any(axis=1) if k else np.zeros(0, dtype=bool)
        assert float(said["force"]) == pytest.approx(pile.multipliers[k][touching].sum() / 0.01, rel=1e-3, abs=1e-3)
    assert tab.locator("#body").input_value() == "23"


def test_those_who_left_are_said_to_be_gone(opened, leaving):
    tab = opened(leaving)
    tab.locator("#body").fill("0")
    assert facts(tab)["radius"] == "1"
    before = image(tab)
    scrub(tab, len(leaving.t) - 1)
    assert facts(tab) == {"": "absent at this time"}
    assert (image(tab) != 255).any(axis=2).sum() < 0.6 * (before != 255).any(axis=2).sum()
    tab.locator("#body").fill("2")
    assert facts(tab)["radius"] == "1"


def test_hands_move_the_plane(opened, pile):
    tab = opened(pile)
    x, y = place(tab, 5)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y - 30, steps=4)
    tab.mouse.up()
    moved = place(tab, 5)
    assert moved == pytest.approx([x + 60, y - 30], abs=16)
    assert picked(tab) is None
    far = place(tab, 20)
    tab.mouse.move(*moved)
    tab.mouse.wheel(0, -300)
    wait_until(tab, APART, [5, 20, 1.2 * np.hypot(*np.subtract(far, moved))])
    assert place(tab, 5) == pytest.approx(moved, abs=1)


def test_hands_turn_space(opened, two_balls):
    tab = opened(two_balls)
    before, x = image(tab), place(tab, 1)
    tab.mouse.move(400, 300)
    tab.mouse.down()
    tab.mouse.move(520, 260, steps=4)
    tab.mouse.up()
    assert place(tab, 1) != pytest.approx(x, abs=5)
    assert (image(tab) != before).any(axis=2).mean() > 0.02


def test_two_fingers_zoom(opened, pile):
    tab = opened(pile, has_touch=True)
    (x, y), far = place(tab, 5), place(tab, 20)
    touch = tab.context.new_cdp_session(tab)
    for kind, apart in [("touchStart", 20), ("touchMove", 30), ("touchMove", 40), ("touchEnd", None)]:
        points = [] if apart is None else [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    wait_until(tab, APART, [5, 20, 1.9 * np.hypot(*np.subtract(far, [x, y]))])
    wider = np.subtract(place(tab, 20), place(tab, 5))
    assert wider == pytest.approx(2.0 * np.subtract(far, [x, y]), rel=0.05, abs=2)


def test_colours_follow_the_scheme_of_the_reader(opened, pile):
    tab = opened(pile, color_scheme="dark")
    assert image(tab)[2, 2].max() < 60
    tab.emulate_media(color_scheme="light")
    assert image(tab)[2, 2].min() > 240


def test_left_out_frames_are_mentioned(opened, pile, tmp_path):
    whole = viz.page(pile, tmp_path / "whole.html").stat().st_size
    tab = opened(pile, page={"most_bytes": whole - 12_000})
    count = tab.evaluate("viewer.source.count")
    assert 1 < count < 21
    assert tab.locator("#note").inner_text().startswith(f"{count} of the 21 saved frames")


def test_a_lost_graphics_card_comes_back(opened, pile):
    tab = opened(pile)
    before = image(tab)
    tab.evaluate(LOSE)
    tab.evaluate(RESTORE)
    assert (image(tab) == before).all(axis=2).mean() > 0.99


@pytest.mark.parametrize(
    ("problem", "scheme"),
    [
        whole((jo.models.cradle(5), jo.Paoli())),
        whole((jo.models.labyrinth(), jo.Venel())),
        (jo.models.vibrating_table(2.0), jo.Maury()),
        (
            jo.Motion(
                q0=[[0.1, 0.5], [2.9, 0.5]], v0=[[-1.0, 0.0], [0.0, 0.0]], within=jo.Balls([0.1, 0.1], period=[3, 3])
            ),
            jo.Maury(),
        ),
    ],
    ids=["cradle", "labyrinth", "moving table", "periodic"],
)
def test_any_solution_is_played(opened, problem, scheme):
    tab = opened(jo.solve(problem, scheme, t=1.1, h=0.01, every=10))
    scrub(tab, 10)
    assert (image(tab) != 255).any(axis=2).mean() > 0.0005


@pytest.mark.parametrize("title", [whole("x" * 400), "A pile of many discs " * 30])
def test_a_long_title_ends_before_the_legend(opened, pile, title):
    tab = opened(pile, page={"title": title})
    for width in (320, 600, 1200):
        tab.set_viewport_size({"width": width, "height": 520})
        heading, legend = tab.locator("h1").bounding_box(), tab.locator("#legend").bounding_box()
        assert heading["x"] >= 0
        assert heading["x"] + heading["width"] < legend["x"] <= width
        assert heading["height"] < 80, "it has at most three lines"
    assert tab.locator("h1").get_attribute("title").strip() == title.strip()


def test_the_scale_bar_is_as_long_as_it_says(opened, pile):
    tab = opened(pile)
    for key in ("", "+", "+", "+", "+"):
        if key:
            tab.keyboard.press(key)
        wait_until_drawn(tab)
        length = float(tab.locator("#ruler").inner_text())
        wide = tab.locator("#ruler span").bounding_box()["width"]
        apart = np.linalg.norm(pile.q[0][1] - pile.q[0][0])
        pixels = np.hypot(*np.subtract(place(tab, 1), place(tab, 0)))
        assert wide == pytest.approx(length * pixels / apart, abs=1.0)
        assert 45 < wide <= 121


def test_dark_and_light_are_chosen_by_a_key(opened, pile):
    tab = opened(pile)
    assert image(tab)[5, 300].tolist() == [255, 255, 255]
    tab.keyboard.press("t")
    assert tab.locator("#theme").inner_text() == "Light"
    assert image(tab)[5, 300].max() < 40
    assert tab.evaluate("() => getComputedStyle(document.querySelector('footer')).color") == "rgb(230, 234, 241)"
    tab.locator("#theme").click()
    assert image(tab)[5, 300].tolist() == [255, 255, 255]


@pytest.mark.parametrize("before", ["", WITHOUT_WEBGL], ids=["webgl", "plain canvas"])
def test_a_vessel_is_glass_where_webgl_is_and_wires_elsewhere(opened, before):
    """The wall of a bucket is tinted between its wires, and the ball inside is seen through it."""
    ball = jo.Motion(
        q0=[[0.0, 0.0, 0.5]], within=jo.Balls([0.3]) & jo.Vessel([(0.0, 0.0), (1.0, 0.0), (1.0, 4.0)]), force=[0, 0, -1]
    )
    tab = opened(jo.solve(ball, jo.Maury(), t=0.2, h=0.1), before=before)
    seen = image(tab)
    tinted = (seen[len(seen) // 2] < 253).any(axis=1)
    inside = np.flatnonzero(tinted)
    part = tinted[inside[0] : inside[-1] + 1].mean()
    assert part > 0.9 if not before else part < 0.3
    x, y = place(tab, 0)
    assert seen[round(y), round(x)].max() < 245


def test_the_list_of_keys_names_each_switch_by_its_label():
    text = document.part("viewer.html")
    switches = re.findall(r'type="checkbox".*?aria-keyshortcuts="(.)"> (.*?)</label>', text)
    assert len(switches) == 7
    for key, label in switches:
        assert label in re.search(rf"<dt[^>]*>{key}</dt>\s*<dd[^>]*>(.*?)</dd>", text)[1]
