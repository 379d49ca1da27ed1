"""What is read from the picture: contacts, quantities; and the picture that needs no graphics card."""

import numpy as np
import pytest
from browsing import facts, image, picked, place, scrub, wait_until

import jostle as jo
from jostle.viz.encoding import Encoder
from jostle.viz.scene import Scene
from rows import whole

VALUES = """key => {
    const { stage, source } = viewer, option = source.about.quantities.findIndex((one) => one.name === key);
    document.getElementById("colour").selectedIndex = option;
    return [...viewer.values(key)];
}"""


def name(tab):
    return tab.locator("#picked-name").inner_text()


def test_a_click_between_two_bodies_or_at_the_wall_reads_the_contact(opened, pile):
    tab = opened(pile, size=(900, 820))
    scrub(tab, 20)
    strong = np.argsort(pile.multipliers[-1])[::-1]
    between = [c for c in strong if (pile.pairs[-1][c] >= 0).all()][:5]
    for c in between:
        i, j = pile.pairs[-1][c]
        (x, y), (a, b) = place(tab, int(i)), place(tab, int(j))
        tab.mouse.click((x + a) / 2, (y + b) / 2)
        assert name(tab) == f"Contact of ball {i} and ball {j}"
        assert tab.evaluate("viewer.contact") == [i, j]
        assert picked(tab) is None
        said = facts(tab)
        assert float(said["force"]) == pytest.approx(pile.multipliers[-1][c] / 0.01, rel=1e-3)
        way = pile.q[-1, j] - pile.q[-1, i]
        assert [float(x) for x in said["direction"].split(", ")] == pytest.approx(way / np.linalg.norm(way), abs=2e-3)
    tab.locator("#forces").click()
    tab.mouse.click((x + a) / 2, (y + b) / 2)
    assert picked(tab) in (i, j), "where forces are not shown, bodies are picked"

    tab.locator("#forces").click()
    floor = [c for c, (_, j) in enumerate(pile.pairs[-1]) if j < 0 and abs(pile.normals[-1][c][1] + 1) < 1e-9]
    c = max(floor, key=lambda c: pile.multipliers[-1][c])
    i, wall = pile.pairs[-1][c]
    x, y = place(tab, int(i))
    r = pile.problem.within.sets[0].radii[i] * tab.evaluate("viewer.stage.camera.scale")
    tab.mouse.click(x, y + 0.9 * r)
    assert name(tab) == f"Contact of ball {i} and wall {-1 - wall}"
    assert facts(tab)["wall"] == "wall q[1] >= lower"
    said = facts(tab)
    assert float(said["force"]) == pytest.approx(pile.multipliers[-1][c] / 0.01, rel=1e-3)
    assert [float(x) for x in said["at"].split(", ")] == pytest.approx([pile.q[-1, i, 0], 0.0], abs=5e-3)


def test_the_contact_that_is_picked_is_marked(opened, pile):
    tab = opened(pile, size=(900, 820))
    scrub(tab, 20)
    before = image(tab)
    tab.keyboard.press("Shift+N")
    after = image(tab)
    changed = after[(after != before).any(axis=2)]
    assert len(changed) > 30
    c = int(np.argmax(pile.multipliers[-1]))
    i, j = pile.pairs[-1][c]
    if j >= 0:  # nothing is drawn over it
        x, y = np.round(np.add(place(tab, int(i)), place(tab, int(j))) / 2).astype(int)
        assert after[y, x].tolist() == pytest.approx([0xC2, 0x18, 0x9B], abs=3)
    red, green, blue = np.median(changed, axis=0)
    assert (red > 150, green < 80, blue > 100) == (True, True, True)


def test_the_page_computes_what_python_computes_and_numbers_may_change_from_frame_to_frame(opened, pile):
    given = {"age": np.arange(24.0), "noise": lambda k: np.full(24, float(k))}
    tab = opened(pile, page={"quantities": given})
    tab.locator("#body").fill("5")
    for k in (0, 7, 20):
        scrub(tab, k)
        assert facts(tab)["noise"] == str(k)
    scene = Scene(pile)
    frame, encoder = scene.frame(20), Encoder.of(scene, given)
    assert len(encoder.quantities) == 13
    for quantity in encoder.quantities:
        assert tab.evaluate(VALUES, quantity.name) == pytest.approx(quantity.of(frame), rel=1e-4, abs=1e-4), (
            quantity.name
        )


def test_colours_by_numbers_of_the_user(opened, pile):
    age = np.where(np.arange(24) < 12, 20.0, 80.0)
    age[3] = np.nan
    tab = opened(pile, page={"quantities": {"age": age}})
    before = image(tab)
    tab.locator("#colour").select_option("given0")
    assert tab.locator("#scale-name").inner_text() == "age"
    assert [tab.locator(f"#scale-{end}").inner_text() for end in ("low", "high")] == ["20", "80"]
    after = image(tab)
    (x, y), (a, b), (c, d) = (np.round(place(tab, k)).astype(int) for k in (0, 20, 3))
    assert (after != before).any()
    assert after[y, x].min() > 200, "young is pale"
    assert after[b, a].max() < 90, "old is dark"
    assert np.ptp(after[d, c]) < 20, "not known is grey"
    tab.locator("#body").fill("20")
    assert facts(tab)["age"] == "80"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros(23), r"has shape \(23,\)"),
        (np.zeros((20, 24)), r"has shape \(20, 24\)"),
        (lambda k: [1.0], "of frame"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(pile, tmp_path, given, words):
    with pytest.raises(jo.InvalidValue, match=f"'age' .*{words}|'age' {words}"):
        jo.viz.page(pile, tmp_path / "page.html", quantities={"age": given})


@pytest.mark.parametrize("scene", [whole("plane"), "space"])
def test_light_drawing_shows_the_same(opened, pile, scene):
    if scene == "space":
        radii = np.random.default_rng(1).uniform(0.3, 0.5, 24)
        heap = jo.models.spheres(radii, box=([0, 0, 0], [3, 3, np.inf]), seed=1)
        pile = jo.solve(heap, jo.Maury(), t=1.0, h=0.01, every=0.05)
    tab = opened(pile)
    scrub(tab, 20)
    assert tab.evaluate("viewer.stage.painter.constructor.name") == "WebGLPainter"
    tab.locator("#body").fill("4")
    by_card = image(tab)
    tab.locator("#light").click()
    assert tab.evaluate("viewer.stage.painter.constructor.name") == "RasterPainter"
    by_hand = image(tab)
    off = np.abs(by_card - by_hand).max(axis=2)
    assert (off > 60).mean() < (0.03 if scene == "plane" else 0.06)
    seen = (by_card != 255).any(axis=2)
    assert ((by_hand != 255).any(axis=2) == seen).mean() > 0.97
    tab.locator("#light").click()
    assert (image(tab) == by_card).all(axis=2).mean() > 0.99


def test_many_bodies_are_drawn_lightly_where_there_is_no_graphics_card(opened):
    """The browser of the tests computes WebGL on the processor, and says so."""
    side = 46
    q = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2).astype(float)
    many = jo.Motion(q0=q, v0=np.tile([0.1, 0.0], (len(q), 1)), within=jo.Balls(np.full(len(q), 0.45)))
    tab = opened(jo.solve(many, jo.Maury(), t=0.2, h=0.1))
    assert tab.evaluate("viewer.stage.painter.constructor.name") == "RasterPainter"
    assert tab.locator("#light").is_checked()
    assert not tab.locator("#message").is_visible()
    assert (image(tab) != 255).any(axis=2).mean() > 0.3
    tab.mouse.click(*place(tab, 1000))
    assert picked(tab) == 1000
    tab.locator("#light").click()
    wait_until(tab, "() => viewer.stage.painter.constructor.name === 'WebGLPainter'")
