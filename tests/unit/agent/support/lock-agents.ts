import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { DataRoot } from '../../../../agent/volume/state/data-root.ts';
import { VolumeLock } from '../../../../agent/volume/state/volume-lock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** The identity of a pod's agent. */
export const identityOf = (podName: string) => ({
  podName,
  podUid: `uid-of-${podName}`,
  node: `node-of-${podName}`,
  namespace: 'ns',
  crName: 'gw',
  profile: 'default',
  gatewayName: undefined,
});

/** The lock of a pod's agent on a data volume. */
export async function lockOf(data: string, podName: string): Promise<VolumeLock> {
  return new VolumeLock(await DataRoot.open(data), identityOf(podName));
}

/** A data volume, on which agents take the lock. It is removed after the test, and the locks are released. */
export async function createVolume(t: TestContext) {
  const data = await temporaryDirectory(t, 'lock-');
  const locks: VolumeLock[] = [];
  t.after(() => {
    for (const lock of locks) lock.release();
  });
  const own = path.join(data, '.sync-agent');
  await mkdir(own);
  return {
    data,
    /** Path of one of the agent's own files. */
    at: (name: string) => path.join(own, name),
    agentOf: async (podName: string) => {
      const lock = await lockOf(data, podName);
      locks.push(lock);
      return lock;
    },
    /** Name of the pod that `owner.json` names. */
    owner: () => JSON.parse(readFileSync(path.join(own, 'owner.json'), 'utf8')).pod as string,
  };
}
