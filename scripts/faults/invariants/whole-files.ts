import type { Invariant } from './sample.ts';

/** Checks that a delivered file always has exactly the content that some commit has at its path. */
export const wholeFiles: Invariant = ({ resources }, { files }) => {
  const known = new Map(resources.map((resource) => [resource.name, resource.known.known]));
  const wrong: string[] = [];
  for (const [gateway, found] of files) {
    for (const [name, { blob }] of found) {
      const entry = `${name} ${blob}`;
      if (gateway.isForeign(name) || gateway.drifted.has(entry) || known.get(gateway.resource)?.has(entry)) continue;
      wrong.push(`${gateway.name}: ${name} is not in any commit (${blob})`);
    }
  }
  return wrong;
};

/** Checks that files of the gateway itself are never written, replaced, or removed. */
export const foreignFiles: Invariant = (_, { files }) => {
  const wrong: string[] = [];
  for (const [gateway, found] of files) {
    for (const [name, stamp] of gateway.foreign) {
      const now = found.get(name)?.stamp ?? gateway.stampOf(name);
      if (now !== stamp) wrong.push(`${gateway.name}: the foreign file ${name} is ${now ? 'changed' : 'gone'}`);
    }
  }
  return wrong;
};
