import { ask, decideAndSend, hasNewsOf, hear, isOwed, land, nextFor, observe, watch } from './controllers.ts';
import type { Controller, Setup, World } from './world.ts';

/** Whether a controller has work. */
export function hasWork(world: World, index: number): boolean {
  const { mayWrite, isAwake, write } = world.controllers[index] as Controller;
  const hasNews = world.agents.some((_, agent) => hasNewsOf(world, index, agent));
  return (
    write !== undefined || (mayWrite && (isAwake || isOwed(world, index) || hasNews || Boolean(nextFor(world, index))))
  );
}

/** Does all of its work at once. */
export function work(world: World, index: number, setup: Setup): World {
  const leads = (at: World) => at.controllers[index]?.mayWrite;
  const landed = world.controllers[index]?.write ? land(world, index, setup) : world;
  if (!leads(landed)) return landed;
  let next = nextFor(landed, index) ? watch(landed, index, setup, landed.versions.at(-1)) : landed;
  for (const agent of world.agents.keys()) if (hasNewsOf(next, index, agent)) next = hear(next, index, agent, setup);
  for (let turn = 0; turn < 3 && leads(next); turn += 1) {
    if (isOwed(next, index)) next = ask(next, index);
    if (next.controllers[index]?.isAwake) next = land(decideAndSend(observe(next, index), index, setup), index, setup);
  }
  return next;
}
