import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { World } from './world.ts';

/** Marks a pod as running and ready, as its kubelet would. */
export async function markReady({ client }: Pick<World, 'client'>, namespace: string, pod: string): Promise<void> {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await client.mergePatch(`${corePath('pods', namespace, pod)}/status`, { status });
}
