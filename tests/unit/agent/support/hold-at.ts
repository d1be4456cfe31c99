import fs from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { mockCalls, type RealCall } from './mock-calls.ts';

const CHANGING = [
  'linkSync',
  'renameSync',
  'unlinkSync',
  'rmdirSync',
  'mkdirSync',
  'openSync',
  'ftruncateSync',
] as const;

interface Kill {
  step: number;
  hasLinks: boolean;
  /** Steps count from the first that has a path which this fits; left out, from the first of all. */
  from?: RegExp;
  /** Is given the call that was reached, to be made later: by a process that was held up right before it, not killed. */
  onHeld?: (call: () => void) => void;
}

/**
 * Plays a kill: from the given call on that changes the volume, none does anything any more, so that nothing can be
 * taken back either. Gives what ends it, and tells whether the call was reached.
 */
export function holdAt(t: TestContext, { step, hasLinks, from = /^/, onHeld = () => {} }: Kill) {
  let calls = 0;
  const end = mockCalls(t, CHANGING, (name, args, real) => {
    const isChange = name !== 'openSync' || args[1] === 'wx';
    // A bare name is one in the folder of the volume that the agent works in.
    const isVolume = typeof args[0] === 'number' || /^\/proc\/\w+\/fd\/|^[^/]+$/.test(String(args[0]));
    const hasBegun = calls > 0 || args.slice(0, 2).some((arg) => from.test(String(arg)));
    if (isChange && isVolume && hasBegun) calls += 1;
    if (isChange && isVolume && calls === step) onHeld(held(real, args));
    if (isChange && isVolume && calls >= step) throw Object.assign(new Error('EIO: killed'), { code: 'EIO' });
    if (name === 'linkSync' && !hasLinks) throw Object.assign(new Error('EPERM: played'), { code: 'EPERM' });
    return real(...args);
  });
  return () => {
    end();
    return calls >= step;
  };
}

/** The call with paths that lead to the same folders when those of this process are closed. */
function held(call: RealCall, args: unknown[]): () => void {
  const real = args.map((arg, index) =>
    typeof arg === 'string' && (index === 0 || arg.startsWith('/'))
      ? path.join(fs.realpathSync(path.dirname(arg)), path.basename(arg))
      : arg,
  );
  return () => call(...real);
}
