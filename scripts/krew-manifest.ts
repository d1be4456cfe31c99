import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import manifest from '../package.json' with { type: 'json' };
import { REPOSITORY } from './site/addresses.ts';

/** Names of Node's architectures in Go and Krew. */
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** Files and directories of an archive that Krew installs. */
const FILES = ['kubectl-stoker', 'completion', 'LICENSE', 'kubectl-stoker.mjs.LEGAL.txt'];

/** Name of the archive with the program for a platform of Node, such as `linux-x64`. */
export const archiveName = (platform: string): string => `kubectl-stoker-${platform}.tar.gz`;

/**
 * Returns the manifest for installing the plugin with Krew (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/),
 * for the archives in a directory. Throws an error if there are none.
 */
export async function krewManifest(directory: string): Promise<string> {
  const platforms = [];
  for (const file of (await readdir(directory)).sort()) {
    const [, os, architecture = ''] = /^kubectl-stoker-(linux|darwin)-(\w+)\.tar\.gz$/.exec(file) ?? [];
    const arch = ARCHITECTURES[architecture];
    if (os === undefined || arch === undefined) continue;
    const sha256 = hash('sha256', await readFile(path.join(directory, file)));
    platforms.push({
      selector: { matchLabels: { os, arch } },
      uri: `${REPOSITORY}/releases/download/v${manifest.version}/${file}`,
      sha256,
      files: FILES.map((from) => ({ from, to: '.' })),
      bin: 'kubectl-stoker',
    });
  }
  if (platforms.length === 0)
    throw new Error(`${directory} has no ${archiveName('linux-x64')} or an archive for another platform.`);
  const spec = {
    version: `v${manifest.version}`,
    homepage: REPOSITORY,
    shortDescription: 'Show and control what gateways sync from git',
    description:
      'Shows which commits gateway pods have synced from git with stoker-operator, and what the other pods are waiting for. Syncs, pauses, approves, and rolls back with your permissions in the cluster. It has no other requirements on your machine.\n',
    platforms,
  };
  const plugin = {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'stoker' },
    spec,
  };
  return stringify(plugin, { lineWidth: 100 });
}
