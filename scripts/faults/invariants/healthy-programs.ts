import { LIMIT_KB } from '../../testbed/memory-limit.ts';
import type { ManagedProgram, ProgramEnd } from '../world/managed-program.ts';

/** Message that a controller logs right before it exits. */
const LOST_LEASE = '"msg":"the lease was lost: starting over"';

type Measured = Pick<ManagedProgram, 'name' | 'peakKb' | 'ends' | 'measure'>;

/** Checks that each program stays within its memory, and that only a controller without its Lease exits by itself. */
export function healthyPrograms(world: { controllers: Measured[]; programs(): Measured[] }): string[] {
  return world.programs().flatMap((program) => {
    program.measure();
    const { name, peakKb, ends } = program;
    const isTooLarge = peakKb > LIMIT_KB;
    const strange = world.controllers.includes(program) ? ends.filter((end) => !hasLostLease(end)) : ends;
    return [
      ...strange.map(({ what, log }) => `${what}:\n${cut(log)}`),
      ...(isTooLarge ? [`${name} held ${Math.round(peakKb / 1024)} MiB`] : []),
    ];
  });
}

/** Status 1 also indicates an uncaught exception, so the last line of the log decides. */
function hasLostLease({ what, log }: ProgramEnd): boolean {
  const last = log.trimEnd().split('\n').at(-1) ?? '';
  return what.endsWith(' with status 1') && last.includes(LOST_LEASE);
}

/** Shortens lines of a bundle that Node may have printed, which are very long; lines of the log are unchanged. */
const cut = (log: string) => log.replace(/^([^{].{299}).+$/gm, '$1…');
