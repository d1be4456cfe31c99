import { LIMIT_KB } from '../../testbed/memory-limit.ts';
import type { World } from '../world/world.ts';

/** Each program stays within its memory, and none ends by itself but a controller that lost its Lease. */
export function healthyPrograms(world: World): string[] {
  return world.programs().flatMap((program) => {
    program.measure();
    const { name, peakKb, crashes } = program;
    const isTooLarge = peakKb > LIMIT_KB;
    const ended = world.controllers.includes(program) ? crashes.filter((end) => !/status 1$/.test(end)) : crashes;
    return [...ended, ...(isTooLarge ? [`${name} held ${Math.round(peakKb / 1024)} MiB`] : [])];
  });
}
