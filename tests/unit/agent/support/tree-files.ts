import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import type { Profile } from './git-sandbox.ts';
import type { Sandbox } from './sandbox.ts';

type Mapping = ResolvedProfile['mappings'][number];

export const mappingOf = (source: string, destination: string, more: Partial<Mapping> = {}): Mapping => ({
  source,
  destination,
  required: true,
  template: false,
  ...more,
});

/** Profiles that deliver `dags` as a tree and as single files, and one without it. */
export const atomic: Profile = { mappings: [mappingOf('dags', 'dags', { publish: 'atomic' })] };
export const plain: Profile = { mappings: [mappingOf('dags', 'dags')] };
export const other: Profile = { mappings: [mappingOf('other', 'other')] };

/** The directory that a destination leads to. */
export const treeOf = ({ data }: Pick<Sandbox, 'data'>, destination = 'dags'): string =>
  fs.realpathSync(path.join(data, destination));

/** Contents of everything below a directory, by path. */
export function below(directory: string): Record<string, string> {
  if (!fs.existsSync(directory)) return {};
  const entries = fs.readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files.sort().map((file) => [path.relative(directory, file), fs.readFileSync(file, 'utf8')]),
  );
}

/** Contents of one of the agent's directories. */
export const ownContents = ({ data }: Pick<Sandbox, 'data'>, name: string): string[] =>
  Object.values(below(path.join(data, '.sync-agent', name))).sort();

/** Contents of all files that the agent keeps for the gateway. */
export const takenOver = (sandbox: Pick<Sandbox, 'data'>): string[] => ownContents(sandbox, 'taken-over');

/** Names of all trees. */
export const treesOf = ({ data }: Pick<Sandbox, 'data'>): string[] => {
  const directory = path.join(data, '.sync-agent/trees');
  return fs.existsSync(directory) ? fs.readdirSync(directory) : [];
};

/** Removes trees to which no link leads, and checks which ones are left, and which files of the gateway were kept. */
export async function expectTrees(
  sandbox: Pick<Sandbox, 'data' | 'removeTrees'>,
  destinations: string[],
  kept: string[] = [],
): Promise<void> {
  await sandbox.removeTrees();
  const trees = destinations.map((destination) => path.basename(treeOf(sandbox, destination)));
  assert.deepEqual([treesOf(sandbox).sort(), takenOver(sandbox)], [trees.sort(), kept]);
}

/** Writes into a tree as a gateway can that has the agent's user. */
export function writeInto(directory: string, name: string, text: string): void {
  fs.chmodSync(directory, 0o755);
  fs.mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
  fs.writeFileSync(path.join(directory, name), text);
  fs.chmodSync(directory, 0o555);
}
