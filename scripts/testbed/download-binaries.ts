import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from './run-command.ts';
import { step } from './step.ts';
import { type BinaryName, kubernetesVersion } from './versions.ts';

/** Where binaries are published: the index of the envtest archives, and the releases of Kubernetes. */
interface DownloadSites {
  envtestIndex: string;
  kubernetes: string;
}

const publishedSites: DownloadSites = {
  envtestIndex: 'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml',
  kubernetes: 'https://dl.k8s.io/release',
};

const envtestNames: BinaryName[] = ['etcd', 'kube-apiserver', 'kubectl'];
const platform = process.platform;
const arch = process.arch === 'x64' ? 'amd64' : process.arch;

/**
 * Downloads binaries for people without Go: etcd, kube-apiserver and kubectl from the envtest archive, and, on Linux,
 * kube-controller-manager from the Kubernetes release. Checks the published SHA-512. Throws for every other binary, after those.
 */
export async function downloadBinaries(names: BinaryName[], bin: string, sites = publishedSites): Promise<void> {
  await mkdir(bin, { recursive: true });
  const fromEnvtest = names.filter((name) => envtestNames.includes(name));
  if (fromEnvtest.length > 0) await downloadEnvtest(fromEnvtest, bin, sites);
  const fromRelease = names.filter((name) => name === 'kube-controller-manager' && platform === 'linux');
  for (const name of fromRelease) await downloadRelease(name, bin, sites);
  const rest = names.filter((name) => !fromEnvtest.includes(name) && !fromRelease.includes(name));
  if (rest.length > 0) throw new Error(`${rest.join(', ')}: not downloadable for ${platform}; Go can build it.`);
}

async function downloadEnvtest(names: BinaryName[], bin: string, { envtestIndex }: DownloadSites): Promise<void> {
  const { url, sha512 } = chooseArchive(String(await fetchBytes(envtestIndex)));
  await step(`  downloading ${path.basename(url)}`, async () => {
    const archive = await fetchBytes(url);
    check(archive, sha512, url);
    const folder = await mkdtemp(path.join(bin, '.envtest-'));
    try {
      await writeFile(path.join(folder, 'archive.tar.gz'), archive);
      await runCommand('tar', ['-xzf', 'archive.tar.gz'], { cwd: folder });
      const files = await readdir(folder, { recursive: true });
      for (const name of names) {
        const file = files.find((candidate) => path.basename(candidate) === name);
        if (!file) throw new Error(`${url} holds no ${name}.`);
        await rename(path.join(folder, file), path.join(bin, name));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

/** Not every patch release has an archive: takes the one of our version, or the newest of the same minor. */
function chooseArchive(index: string): { url: string; sha512: string } {
  const minor = kubernetesVersion.split('.').slice(0, 2).join('.');
  const entries = [...index.matchAll(/hash: ([0-9a-f]{128})\s+selfLink: (\S+)/g)]
    .map(([, sha512 = '', url = '']) => ({ sha512, url, version: /envtest-v(\d+\.\d+\.\d+)-/.exec(url)?.[1] ?? '' }))
    .filter(({ url, version }) => url.endsWith(`-${platform}-${arch}.tar.gz`) && version.startsWith(`${minor}.`))
    .sort((a, b) => Number(b.version.split('.')[2]) - Number(a.version.split('.')[2]));
  const entry = entries.find(({ version }) => version === kubernetesVersion) ?? entries[0];
  if (!entry) throw new Error(`No envtest archive of Kubernetes ${minor} is published for ${platform}-${arch}.`);
  return entry;
}

async function downloadRelease(name: BinaryName, bin: string, { kubernetes }: DownloadSites): Promise<void> {
  const url = `${kubernetes}/v${kubernetesVersion}/bin/${platform}/${arch}/${name}`;
  await step(`  downloading ${name} ${kubernetesVersion}`, async () => {
    const [bytes, sha512] = await Promise.all([fetchBytes(url), fetchBytes(`${url}.sha512`)]);
    check(bytes, String(sha512).trim(), url);
    const unfinished = path.join(bin, `.${name}.${process.pid}`);
    await writeFile(unfinished, bytes);
    await chmod(unfinished, 0o755);
    await rename(unfinished, path.join(bin, name));
  });
}

async function fetchBytes(url: string): Promise<Buffer> {
  const response = await fetch(url).catch((error: Error) => {
    throw new Error(`The download of ${url} failed: ${(error.cause as Error | undefined)?.message ?? error.message}`);
  });
  if (!response.ok) throw new Error(`The download of ${url} failed: status ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

function check(bytes: Buffer, sha512: string, url: string): void {
  const actual = createHash('sha512').update(bytes).digest('hex');
  if (actual !== sha512) throw new Error(`${url} has SHA-512 ${actual}, published is ${sha512}.`);
}
