import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from '../world/world.ts';

/** This many deliveries can't all meet a fault. */
const ENOUGH = 10;
const WITHIN_MS = 30_000;
const AGAIN_MS = 500;

/** Checks that no delivery is refused, because all are authentic, and that some are stored during faults. */
export function takenDeliveries({ senders: { strange, answers } }: Pick<World, 'senders'>): string[] {
  const count = Object.values(answers).reduce((sum, number) => sum + number, 0);
  const isNoneStored = count >= ENOUGH && answers.stored === 0;
  return [...strange, ...(isNoneStored ? [`none of ${count} deliveries was stored`] : [])];
}

/** Checks that, once nothing is broken, a delivery for each resource is stored by either receiver. */
export async function storedDeliveries({
  senders,
  resources,
}: Pick<World, 'senders' | 'resources'>): Promise<string[]> {
  const wrong: string[] = [];
  for (const [index, resource] of resources.entries()) {
    const target = `${resource.namespace}/${resource.name}`;
    const tip = resource.known.tips.length - 1;
    const payload = { ref: 'refs/heads/main', after: resource.known.tips[tip] };
    const post = () => senders.post(index, { target, event: 'push', payload });
    let answer = await post();
    // A receiver may have just been started.
    const deadline = Date.now() + WITHIN_MS;
    for (; answer !== 'stored' && senders.strange.length === 0 && Date.now() < deadline; answer = await post())
      await sleep(AGAIN_MS);
    if (answer === 'stored') resource.mainWasAskedFor(tip);
    else wrong.push(`no delivery for ${target} is stored, though nothing is broken: ${answer}`);
  }
  return [...senders.strange, ...wrong];
}
