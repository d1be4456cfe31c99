import { LIMIT_KB } from '../../testbed/memory-limit.ts';
import type { ManagedProgram, ProgramEnd } from '../world/managed-program.ts';

/** What a controller logs right before it ends itself. */
const LOST_LEASE = '"msg":"the lease was lost: starting over"';

type Measured = Pick<ManagedProgram, 'name' | 'peakKb' | 'ends' | 'measure'>;

/** Each program stays within its memory, and none ends by itself but a controller that lost its Lease. */
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

/** Status 1 is also that of an uncaught exception, so the last line has to say why it ended. */
function hasLostLease({ what, log }: ProgramEnd): boolean {
  const last = log.trimEnd().split('\n').at(-1) ?? '';
  return what.endsWith(' with status 1') && last.includes(LOST_LEASE);
}

/** A bundle has few lines, and Node may print one of them; those of the log stay as they are. */
const cut = (log: string) => log.replace(/^([^{].{299}).+$/gm, '$1…');
