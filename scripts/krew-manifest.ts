import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import manifest from '../package.json' with { type: 'json' };

const HOME = 'https://github.com/stoker-operator/stoker-operator';

/** What Go, and with it Krew, calls the platforms of Node. */
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };

/** Files and directories of an archive that Krew installs. */
const FILES = ['kubectl-stoker', 'completion', 'LICENSE', 'kubectl-stoker.mjs.LEGAL.txt'];

/** Name of the archive with the program for a platform of Node, such as `linux-x64`. */
export const archiveName = (platform: string): string => `kubectl-stoker-${platform}.tar.gz`;

/**
 * Makes the manifest by which Krew installs the plugin (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/),
 * of the archives in a folder. Throws an error where there is none.
 */
export async function krewManifest(folder: string): Promise<string> {
  const platforms = [];
  for (const file of (await readdir(folder)).sort()) {
    const [, os, architecture = ''] = /^kubectl-stoker-(linux|darwin)-(\w+)\.tar\.gz$/.exec(file) ?? [];
    const arch = ARCHITECTURES[architecture];
    if (os === undefined || arch === undefined) continue;
    const sha256 = createHash('sha256')
      .update(await readFile(path.join(folder, file)))
      .digest('hex');
    platforms.push({
      selector: { matchLabels: { os, arch } },
      uri: `${HOME}/releases/download/v${manifest.version}/${file}`,
      sha256,
      files: FILES.map((from) => ({ from, to: '.' })),
      bin: 'kubectl-stoker',
    });
  }
  if (platforms.length === 0) throw new Error(`${folder} has no ${archiveName('linux-x64')} or the like.`);
  const spec = {
    version: `v${manifest.version}`,
    homepage: HOME,
    shortDescription: 'See and steer what gateways sync from git',
    description:
      'Shows what gateway pods sync from git by stoker-operator, who has which commit and what the others wait for, and syncs, pauses, approves and rolls back, with your own rights in the cluster. It needs nothing else on your machine.\n',
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
