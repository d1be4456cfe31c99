import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  gatewaySyncPath,
  groupPath,
  syncReleasePath,
  syncReportPath,
} from '../../../shared/io/kubernetes/resource-path.ts';
import type { World } from '../world/world.ts';

/** Objects whose text is checked. */
const OBJECTS = [
  gatewaySyncPath(),
  syncReportPath(),
  groupPath('events.k8s.io/v1', 'events'),
  groupPath('rbac.authorization.k8s.io/v1', 'rolebindings'),
  syncReleasePath(),
  groupPath('coordination.k8s.io/v1', 'leases'),
];

/** Checks that logs, and objects other than Secrets, contain no secrets. */
export async function noSecrets(world: World): Promise<string[]> {
  const secrets = await secretsOf(world);
  const texts = new Map<string, string>();
  const logs = path.join(world.directory, 'logs');
  for (const name of await readdir(logs)) texts.set(name, await readFile(path.join(logs, name), 'utf8'));
  for (const object of OBJECTS) texts.set(object, JSON.stringify(await world.plane.ask({ path: object })));
  return [...texts].flatMap(([place, text]) => {
    const found = secrets.find(({ value }) => text.includes(value));
    return found ? [`${place} holds ${found.what}`] : [];
  });
}

async function secretsOf({ directory, senders, hosts, plane }: World) {
  const named = [
    ...senders.secrets.map((value) => ({ what: 'a webhook secret', value })),
    ...hosts.tokens.map((value) => ({ what: 'a git token', value })),
  ];
  const encode = (text: string) => Buffer.from(text).toString('base64').replace(/=+$/, '');
  const encoded = named.map(({ what, value }) => ({ what, value: encode(value) }));
  const tokens: typeof named = [];
  for (const place of [plane.server.dir, directory]) {
    for (const name of await readdir(place)) {
      if (!name.endsWith('kubeconfig')) continue;
      const token = /"token": "([^"]+)"/.exec(await readFile(path.join(place, name), 'utf8'))?.[1];
      // The signature is the secret part.
      if (token) tokens.push({ what: 'a token of Kubernetes', value: token.split('.').at(-1) ?? token });
    }
  }
  return [...named, ...encoded, ...tokens];
}
