import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gatewaySyncPath, groupPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { World } from '../world/world.ts';

/** Checks that logs, and objects other than Secrets, contain no secrets. */
export async function noSecrets(world: World): Promise<string[]> {
  const secrets = await secretsOf(world);
  const wrong: string[] = [];
  for (const [place, text] of [...(await logs(world)), ...(await objectTexts(world))]) {
    const found = secrets.find(({ value }) => text.includes(value));
    if (found) wrong.push(`${place} holds ${found.what}`);
  }
  return wrong;
}

async function secretsOf({ directory, senders, hosts, plane }: World) {
  const named = [
    ...senders.secrets.map((value) => ({ what: 'a webhook secret', value })),
    ...hosts.tokens.map((value) => ({ what: 'a git token', value })),
  ];
  const encoded = named.map(({ what, value }) => ({
    what,
    value: Buffer.from(value).toString('base64').replace(/=+$/, ''),
  }));
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

async function logs({ directory }: World): Promise<[string, string][]> {
  const place = path.join(directory, 'logs');
  const names = await readdir(place);
  return await Promise.all(
    names.map(async (name) => [name, await readFile(path.join(place, name), 'utf8')] as [string, string]),
  );
}

async function objectTexts({ plane }: World): Promise<[string, string][]> {
  const paths = [
    gatewaySyncPath(),
    syncReportPath(),
    groupPath('events.k8s.io/v1', 'events'),
    groupPath('rbac.authorization.k8s.io/v1', 'rolebindings'),
    groupPath('apps/v1', 'controllerrevisions'),
    groupPath('coordination.k8s.io/v1', 'leases'),
  ];
  return await Promise.all(
    paths.map(async (path) => [path, JSON.stringify(await plane.ask({ path }))] as [string, string]),
  );
}
