import type { Frame, Picture } from './picture.ts';

/** Time at which all of a wave had the commit, in milliseconds since the push. */
export interface WaveTime {
  wave: string;
  atMs: number;
}

/** Result of a commit that failed, in milliseconds since the push. */
export interface Failure {
  gateways: string[];
  failedMs: number;
  backMs: number;
}

/** Reads from the frames how a commit went through the waves. Throws if that differs from the plan. */
export function seenByWaves(frames: readonly Frame[], commit: string, maxInWave: Record<string, number>): WaveTime[] {
  const own = frames.filter(({ picture }) => picture.commit === commit);
  for (const { picture } of own) {
    checkOrder(picture);
    const current = picture.waves.find(({ mark }) => mark === 'underWay');
    const max = maxInWave[current?.name ?? ''] ?? Number.POSITIVE_INFINITY;
    if (picture.inProgress > max)
      throw new Error(`${picture.inProgress} gateways of ${current?.name} were in progress`);
  }
  const waves = own.at(-1)?.picture.waves ?? [];
  return waves.map(({ name }, index) => {
    const frame = own.find(({ picture }) => picture.waves[index]?.gateways.every(({ look }) => look === 'new'));
    if (!frame) throw new Error(`the wave ${name} did not get the commit`);
    return { wave: name, atMs: frame.atMs };
  });
}

function checkOrder({ waves }: Picture): void {
  const open = waves.findIndex(({ gateways }) => gateways.some(({ look }) => look !== 'new'));
  const early = waves
    .slice(open + 1)
    .flatMap(({ gateways }) => gateways)
    .find(({ look }) => look !== 'old');
  if (open !== -1 && early) throw new Error(`${early.name} had the commit before ${waves[open]?.name} was complete`);
}

/** Reads from the frames how a commit stopped in the first wave. Throws if any other gateway had it. */
export function seenToFail(frames: readonly Frame[], commit: string): Failure {
  const own = frames.filter(({ picture }) => picture.commit === commit);
  for (const { picture } of own) {
    const touched = picture.waves.slice(1).flatMap(({ gateways }) => gateways.filter(({ look }) => look !== 'old'));
    if (touched.length > 0) throw new Error(`${touched[0]?.name} had the commit, although the first wave failed`);
  }
  const failed = own.find(({ picture }) => failuresOf(picture).length > 0);
  const back = own.find(({ picture }) => picture.phase === 'RolledBack' && failuresOf(picture).length === 0);
  if (!failed || !back) throw new Error('the commit did not fail, or was not rolled back');
  return { gateways: failuresOf(failed.picture), failedMs: failed.atMs, backMs: back.atMs };
}

const failuresOf = ({ waves }: Picture): string[] =>
  waves.flatMap(({ gateways }) => gateways.flatMap(({ name, look }) => (look === 'failed' ? name : [])));
