import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from './run-command.ts';
import { type BinaryName, envtestIndex, envtestNames, kubernetesVersion, type Release, releases } from './versions.ts';

/** Sites that publish binaries; tests use their own. */
export interface DownloadSites {
  envtestIndex: string;
  releases: Partial<Record<BinaryName, Release>>;
}

const publishedSites: DownloadSites = { envtestIndex, releases };
/** For small files. If the network doesn't respond, users shouldn't have to wait, because Go can build everything. */
const SMALL_FILE_TIMEOUT_MS = 10_000;
const ARCHIVE_TIMEOUT_MS = 600_000;
const platform = process.platform;
const arch = process.arch === 'x64' ? 'amd64' : process.arch;

/**
 * Downloads binaries that are published for this platform, several at once, to the paths that `fileOf` returns, after
 * verifying the published checksum. Returns the problems as texts instead of throwing, because there are other ways.
 */
export async function downloadBinaries(
  names: BinaryName[],
  fileOf: (name: BinaryName) => string,
  sites = publishedSites,
): Promise<string[]> {
  const fromEnvtest = names.filter((name) => envtestNames.includes(name));
  const byUrl = Map.groupBy(
    names.filter((name) => sites.releases[name]),
    (name) => sites.releases[name]?.url,
  );
  const unpublished = names.filter((name) => !fromEnvtest.includes(name) && !sites.releases[name]);
  const downloads = [
    ...(fromEnvtest.length > 0 ? [downloadEnvtest(fromEnvtest, fileOf, sites)] : []),
    ...[...byUrl.values()].map(async (together) => {
      const release = sites.releases[together[0] as BinaryName] as Release;
      await unpack(together, fileOf, { ...release, hash: await publishedHash(release) });
    }),
  ];
  const results = await Promise.allSettled(downloads);
  return [
    ...results.flatMap((result) => (result.status === 'rejected' ? [(result.reason as Error).message] : [])),
    ...(unpublished.length > 0 ? [`${unpublished.join(', ')}: not published for ${platform}-${arch}`] : []),
  ];
}

async function downloadEnvtest(names: BinaryName[], fileOf: (name: BinaryName) => string, sites: DownloadSites) {
  const index = String(await fetchBytes(sites.envtestIndex, SMALL_FILE_TIMEOUT_MS));
  await unpack(names, fileOf, chooseArchive(index));
}

/** Chooses the archive of our version, or the newest of the same minor version: not every patch release has one. */
function chooseArchive(index: string): { url: string; hash: string } {
  const minor = kubernetesVersion.split('.').slice(0, 2).join('.');
  const entries = [...index.matchAll(/hash: ([0-9a-f]{128})\s+selfLink: (\S+)/g)]
    .map(([, hash = '', url = '']) => ({ hash, url, version: /envtest-v(\d+\.\d+\.\d+)-/.exec(url)?.[1] ?? '' }))
    .filter(({ url, version }) => url.endsWith(`-${platform}-${arch}.tar.gz`) && version.startsWith(`${minor}.`))
    .sort((a, b) => Number(b.version.split('.')[2]) - Number(a.version.split('.')[2]));
  const entry = entries.find(({ version }) => version === kubernetesVersion) ?? entries[0];
  if (!entry) throw new Error(`No envtest archive of Kubernetes ${minor} is published for ${platform}-${arch}`);
  return entry;
}

/** Returns the checksum of a release: the only one in its file, or the one on the line with its name. */
async function publishedHash({ url, checksums }: Release): Promise<string> {
  const text = String(await fetchBytes(checksums, SMALL_FILE_TIMEOUT_MS));
  const hashes = [...text.matchAll(/^([0-9a-f]{64}|[0-9a-f]{128})(?:\s+\*?(\S+))?$/gm)];
  const [, hash] = hashes.find(([, , file]) => !file || file === path.posix.basename(new URL(url).pathname)) ?? [];
  if (!hash) throw new Error(`${checksums} does not name ${url}`);
  return hash;
}

async function unpack(
  names: BinaryName[],
  fileOf: (name: BinaryName) => string,
  { url, hash }: { url: string; hash: string },
): Promise<void> {
  const started = performance.now();
  const bytes = await fetchBytes(url, ARCHIVE_TIMEOUT_MS);
  check(bytes, hash, url);
  const base = path.dirname(path.dirname(fileOf(names[0] as BinaryName)));
  await mkdir(base, { recursive: true });
  const directory = await mkdtemp(path.join(base, '.download-'));
  try {
    const archive = path.join(directory, path.basename(new URL(url).pathname));
    await writeFile(archive, bytes);
    if (/\.(tar\.gz|zip)$/.test(archive)) await runCommand('tar', ['-xf', archive], { cwd: directory });
    const files = await readdir(directory, { recursive: true });
    for (const name of names) {
      const file = files.find((candidate) => path.basename(candidate) === name);
      if (!file) throw new Error(`${url} holds no ${name}`);
      await chmod(path.join(directory, file), 0o755);
      await mkdir(path.dirname(fileOf(name)), { recursive: true });
      await rename(path.join(directory, file), fileOf(name));
    }
  } finally {
    await rm(directory, { recursive: true });
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stderr.write(`  ${names.join(', ')}: downloaded in ${seconds} s (${url})\n`);
}

async function fetchBytes(url: string, timeoutMs: number): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Error(`${url}: ${(cause as Error | undefined)?.message ?? message}`);
  }
}

function check(bytes: Buffer, published: string, url: string): void {
  const algorithm = published.length === 64 ? 'sha256' : 'sha512';
  const actual = createHash(algorithm).update(bytes).digest('hex');
  if (actual !== published) throw new Error(`${url} has ${algorithm} ${actual}, published is ${published}`);
}
