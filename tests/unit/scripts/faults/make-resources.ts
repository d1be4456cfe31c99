import type { TestContext } from 'node:test';
import { Random } from '../../../../scripts/faults/random.ts';
import { KnownRepository } from '../../../../scripts/faults/world/files.ts';
import { Resource } from '../../../../scripts/faults/world/resource.ts';
import { gitServerFor } from '../../../support/git-server-for.ts';

/** Makes resources with empty repositories on a real git server. */
export async function makeResources(t: TestContext, ...names: string[]): Promise<Resource[]> {
  const server = await gitServerFor(t);
  const repositories = await Promise.all(names.map((name) => server.createRepository(name)));
  return repositories.map((repository, index) => {
    const known = new KnownRepository(repository, new Random(index));
    return new Resource({ namespace: 'n', name: names[index] ?? '', known, spec: {} });
  });
}
