import { homedir } from 'node:os';
import path from 'node:path';
import { buildBinary, hasGo } from './build-binaries.ts';
import { downloadBinaries } from './download-binaries.ts';
import { isExecutable } from './is-executable.ts';
import { step } from './step.ts';
import { type BinaryName, cacheKey, kubernetesVersion } from './versions.ts';

/** Paths of the requested binaries. */
export type Binaries<Name extends BinaryName = BinaryName> = Record<Name, string>;

/** Binaries can be neither downloaded nor built here; the message explains what to do. */
export class MissingBinaries extends Error {}

/**
 * Finds binaries in the directory `KUBEBUILDER_ASSETS`, then in the cache outside the checkout; missing ones are
 * downloaded to the cache, or built with Go. Throws {@link MissingBinaries} if neither works.
 */
export async function findBinaries<Name extends BinaryName>(...names: Name[]): Promise<Binaries<Name>> {
  const absent = locate(names).missing;
  // Two commands that start on an empty cache both fill it. Files appear whole, so this only costs time.
  if (absent.length > 0) await provide(absent);
  const { found, missing } = locate(names);
  if (missing.length > 0) throw new Error(`${missing.join(', ')}: not in ${cacheDirectory()} after it was filled.`);
  return found as Binaries<Name>;
}

/** Finds a binary without downloading or building it; returns its bare name if it is on the PATH. */
export function lookForBinary(name: BinaryName): string | undefined {
  for (const directory of (process.env.PATH ?? '').split(path.delimiter)) {
    if (isExecutable(path.join(directory, name))) return name;
  }
  return locate([name]).found[name];
}

/** Returns the directory for everything that is downloaded or built once for this machine. */
export function cacheDirectory(): string {
  return path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'stoker-operator');
}

/** A separate directory for each binary, so that it can be put on the PATH without others. */
const cachedFile = (name: BinaryName) => path.join(cacheDirectory(), cacheKey(name), name);

function locate(names: BinaryName[]) {
  const assets = process.env.KUBEBUILDER_ASSETS;
  const found: Partial<Binaries> = {};
  for (const name of names) {
    const file = [...(assets ? [path.join(assets, name)] : []), cachedFile(name)].find(isExecutable);
    if (file) found[name] = file;
  }
  return { found, missing: names.filter((name) => !found[name]) };
}

async function provide(names: BinaryName[]): Promise<void> {
  const problems = await downloadBinaries(names, cachedFile);
  const missing = locate(names).missing;
  if (missing.length === 0) return;
  if (!(await hasGo()))
    throw new MissingBinaries(advice(missing, [...problems, 'There is no Go on the PATH to build them with.']));
  process.stderr.write(
    `No download (${problems[0]}). Building with Go, once for this machine, which takes minutes: ${missing.join(', ')}\n`,
  );
  try {
    const modules = path.join(cacheDirectory(), 'build');
    for (const name of missing) await step(`Building ${name}`, () => buildBinary(name, modules, cachedFile(name)));
  } catch (error) {
    problems.push(`The build with Go failed: ${(error as Error).message}`);
    throw new MissingBinaries(advice(locate(names).missing, problems), { cause: error });
  }
}

function advice(missing: BinaryName[], problems: string[]): string {
  return [
    `Missing for the test bed: ${missing.join(', ')}.`,
    ...problems.map((problem) => `- ${problem}`),
    `Either install Go (https://go.dev/dl) and run this again, or put binaries of Kubernetes ${kubernetesVersion}`,
    'and the other tools into one directory and name it in KUBEBUILDER_ASSETS.',
  ].join('\n');
}
