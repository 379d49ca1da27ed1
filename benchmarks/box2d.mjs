// Steps discs in a box with Box2D v3: `node box2d.mjs ENTRY`, where ENTRY is the entry module of the npm package box2d3-wasm.
// One line of JSON comes in: q0 [[x, y], ...], radii, masses, width, height, gravity, h, steps, looks, substeps, workers,
// and perhaps friction (otherwise 0). One line of JSON goes out for each look (every `looks` steps): q, u, and the times of
// the steps since the last look, in ms: [by the clock, of all processors together].
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { pathToFileURL } from "node:url";

globalThis.navigator ??= {}; // the package sizes its pool of threads by the browser's name for the number of cores
navigator.hardwareConcurrency ??= cpus().length;

const scene = JSON.parse(readFileSync(0, "utf8"));
const { default: load } = await import(pathToFileURL(process.argv[2]));
const b2 = await load();

const definition = b2.b2DefaultWorldDef();
definition.gravity.Set(0, -scene.gravity);
definition.enableSleep = false;
const pool = scene.workers > 1 ? new b2.TaskSystem(scene.workers) : null;
const world = pool ? b2.b2CreateThreadedWorld(definition, pool) : b2.b2CreateWorld(definition);

function shape() {
  const made = b2.b2DefaultShapeDef();
  made.material.friction = scene.friction ?? 0;
  made.material.restitution = 0;
  return made;
}

const ground = b2.b2CreateBody(world, b2.b2DefaultBodyDef());
const { width, height } = scene;
for (const [a, b] of [[[0, 0], [width, 0]], [[0, 0], [0, height]], [[width, 0], [width, height]]]) {
  const wall = new b2.b2Segment();
  wall.point1 = new b2.b2Vec2(...a);
  wall.point2 = new b2.b2Vec2(...b);
  b2.b2CreateSegmentShape(ground, shape(), wall);
}

const bodies = scene.q0.map(([x, y], i) => {
  const body = b2.b2DefaultBodyDef();
  body.type = b2.b2BodyType.b2_dynamicBody;
  body.position = new b2.b2Vec2(x, y);
  const id = b2.b2CreateBody(world, body);
  const radius = scene.radii[i];
  const disc = new b2.b2Circle();
  disc.center = new b2.b2Vec2(0, 0);
  disc.radius = radius;
  const made = shape();
  made.density = scene.masses[i] / (Math.PI * radius * radius); // the mass of the disc is masses[i]
  b2.b2CreateCircleShape(id, made, disc);
  return id;
});

let times = [];
for (let step = 1; step <= scene.steps; step++) {
  const begin = performance.now();
  const before = process.cpuUsage();
  b2.b2World_Step(world, scene.h, scene.substeps);
  pool?.ClearTasks();
  const { user, system } = process.cpuUsage(before);
  times.push([performance.now() - begin, (user + system) / 1e3]);
  if (step % scene.looks === 0) {
    const read = (get) => (id) => {
      const vector = get(id);
      const numbers = [vector.x, vector.y];
      vector.delete?.();
      return numbers;
    };
    const q = bodies.map(read(b2.b2Body_GetPosition));
    const u = bodies.map(read(b2.b2Body_GetLinearVelocity));
    process.stdout.write(JSON.stringify({ times, q, u }) + "\n");
    times = [];
  }
}
process.stdout.write("", () => process.exit(0)); // threads of the pool would keep node alive
