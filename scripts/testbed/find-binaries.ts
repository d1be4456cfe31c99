import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { buildBinaries, hasGo } from './build-binaries.ts';
import { withCacheLock } from './cache-lock.ts';
import { downloadBinaries } from './download-binaries.ts';
import { type BinaryName, kubernetesVersion, versionsKey } from './versions.ts';

/** Paths of the binaries that were asked for. */
export type Binaries<Name extends BinaryName = BinaryName> = Record<Name, string>;

/**
 * Finds binaries in the folder `KUBEBUILDER_ASSETS`, then in the cache outside the checkout;
 * what is missing is built with Go or downloaded into the cache. Throws an error that says what to do when neither works.
 */
export async function findBinaries<Name extends BinaryName>(...names: Name[]): Promise<Binaries<Name>> {
  const cache = cacheFolder();
  const bin = path.join(cache, 'bin');
  const assets = process.env.KUBEBUILDER_ASSETS;
  const look = () => locate(names, assets ? [assets, bin] : [bin]);
  if ((await look()).missing.length > 0) {
    await withCacheLock(path.join(cache, 'lock'), async () => {
      const { missing } = await look();
      if (missing.length > 0) await provide(missing, cache);
    });
  }
  const { found, missing } = await look();
  if (missing.length > 0) throw new Error(`${missing.join(', ')}: not in ${bin} after it was filled.`);
  return found as Binaries<Name>;
}

function cacheFolder(): string {
  return path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'stoker-operator', versionsKey);
}

async function locate(names: BinaryName[], folders: string[]) {
  const found: Partial<Binaries> = {};
  for (const name of names) {
    for (const file of folders.map((folder) => path.join(folder, name))) {
      if (!found[name] && (await isExecutable(file))) found[name] = file;
    }
  }
  return { found, missing: names.filter((name) => !found[name]) };
}

async function isExecutable(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function provide(names: BinaryName[], cache: string): Promise<void> {
  const problems: string[] = [];
  if (await hasGo()) {
    try {
      return await buildBinaries(names, { build: path.join(cache, 'build'), bin: path.join(cache, 'bin') });
    } catch (error) {
      problems.push(`The build with Go failed: ${(error as Error).message}`);
    }
  } else {
    problems.push('There is no Go on the PATH to build them with.');
  }
  const bin = path.join(cache, 'bin');
  const { missing } = await locate(names, [bin]);
  try {
    await downloadBinaries(missing, bin);
  } catch (error) {
    problems.push((error as Error).message);
    throw new Error(advice((await locate(names, [bin])).missing, problems), { cause: error });
  }
}

function advice(missing: BinaryName[], problems: string[]): string {
  return [
    `Missing for the test bed: ${missing.join(', ')}.`,
    ...problems.map((problem) => `- ${problem}`),
    `Either install Go (https://go.dev/dl) and run this again, or put binaries of Kubernetes ${kubernetesVersion}`,
    'and the other tools into one folder and name it in KUBEBUILDER_ASSETS.',
  ].join('\n');
}
