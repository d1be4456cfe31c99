import path from 'node:path';
import { fetchBytes, type HashedFile, unpackArchive } from './unpack-archive.ts';
import { type BinaryName, envtestIndex, envtestNames, kubernetesVersion, type Release, releases } from './versions.ts';

/** Sites that publish binaries; tests use their own. */
export interface DownloadSites {
  envtestIndex: string;
  releases: Partial<Record<BinaryName, Release>>;
}

const publishedSites: DownloadSites = { envtestIndex, releases };
/** For small files. If the network doesn't respond, users shouldn't have to wait, because Go can build everything. */
const SMALL_FILE_TIMEOUT_MS = 10_000;
const platform = process.platform;
const arch = process.arch === 'x64' ? 'amd64' : process.arch;

/**
 * Downloads binaries that are published for this platform, several at once, to the paths that `fileOf` returns, after
 * verifying the recorded or published hash. Returns the problems as texts instead of throwing, because there are other ways.
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
  const downloads = [...byUrl.values()].map(async (together) => {
    const release = sites.releases[together[0] as BinaryName] as Release;
    const hash = 'hash' in release ? release.hash : await publishedHash(release);
    await unpackArchive(together, fileOf, { url: release.url, hash });
  });
  const downloadEnvtest = async () => {
    const index = String(await fetchBytes(sites.envtestIndex, SMALL_FILE_TIMEOUT_MS));
    await unpackArchive(fromEnvtest, fileOf, chooseArchive(index));
  };
  if (fromEnvtest.length > 0) downloads.unshift(downloadEnvtest());
  const results = await Promise.allSettled(downloads);
  const problems = results.flatMap((result) => (result.status === 'rejected' ? (result.reason as Error).message : []));
  if (unpublished.length > 0) problems.push(`${unpublished.join(', ')}: not published for ${platform}-${arch}`);
  return problems;
}

/** Chooses the archive of our version, or the newest of the same minor version: not every patch release has one. */
function chooseArchive(index: string): HashedFile {
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
async function publishedHash({ url, checksums }: Extract<Release, { checksums: string }>): Promise<string> {
  const text = String(await fetchBytes(checksums, SMALL_FILE_TIMEOUT_MS));
  const hashes = [...text.matchAll(/^([0-9a-f]{64}|[0-9a-f]{128})(?:\s+\*?(\S+))?$/gm)];
  const [, hash] = hashes.find(([, , file]) => !file || file === path.posix.basename(new URL(url).pathname)) ?? [];
  if (!hash) throw new Error(`${checksums} does not name ${url}`);
  return hash;
}
