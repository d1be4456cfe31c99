import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { runCommand } from './run-command.ts';
import { step } from './step.ts';
import { type BinaryName, kubernetesStagingVersion, kubernetesVersion, type Source, sources } from './versions.ts';

/** Where a build keeps its Go modules and puts what it made. */
export interface BuildFolders {
  build: string;
  bin: string;
}

/** Tells whether `go` is on the PATH. */
export async function hasGo(): Promise<boolean> {
  return await runCommand('go', ['version']).then(
    () => true,
    () => false,
  );
}

/** Builds binaries from their Go modules, one after the other (Go itself uses every core). */
export async function buildBinaries(names: BinaryName[], folders: BuildFolders): Promise<void> {
  await mkdir(folders.bin, { recursive: true });
  process.stderr.write(`Building ${names.join(', ')} with Go: only on the first run, minutes on ${cores()}.\n`);
  for (const name of names) {
    const source = sources[name];
    await step(`  ${name} ${source.version}`, () => build(name, source, folders));
  }
}

async function build(name: BinaryName, source: Source, { build, bin }: BuildFolders): Promise<void> {
  const cwd = path.join(build, source.module);
  await prepareModule(cwd, source);
  const go = goIn(cwd);
  await go('get', '-tool', `${source.package}@v${source.version}`);
  const stamps = Object.entries(source.stamps).map(([variable, value]) => `-X ${variable}=${value}`);
  const unfinished = path.join(bin, `.${name}.${process.pid}`);
  try {
    const flags = ['-ldflags', ['-s -w', ...stamps].join(' '), '-tags', (source.tags ?? []).join(',')];
    await go('build', ...flags, '-o', unfinished, source.package);
    await rename(unfinished, path.join(bin, name));
  } finally {
    await rm(unfinished, { force: true });
  }
}

/** A Go module of our own that requires the tool: `go install` refuses modules with `replace` lines, such as Kubernetes. */
async function prepareModule(folder: string, { module }: Source): Promise<void> {
  await mkdir(folder, { recursive: true });
  const replacements = module === 'kubernetes' ? await stagingReplacements(folder) : [];
  const lines = [`module testbed/${module}`, 'go 1.24', ...replacements, ''];
  await writeFile(path.join(folder, 'go.mod'), lines.join('\n'), { flag: 'wx' }).catch(ignoreExisting);
}

/** Kubernetes requires its staging modules as v0.0.0 from its own tree; outside of it they are published under a real version. */
async function stagingReplacements(folder: string): Promise<string[]> {
  const download = await goIn(folder)('mod', 'download', '-json', `k8s.io/kubernetes@v${kubernetesVersion}`);
  const { GoMod } = JSON.parse(download) as { GoMod: string };
  const staged = (await readFile(GoMod, 'utf8')).matchAll(/(k8s\.io\/[a-z-]+) => \.\/staging/g);
  return [...staged].map(([, module]) => `replace ${module} => ${module} v${kubernetesStagingVersion}`);
}

const goIn =
  (cwd: string) =>
  (...args: string[]) =>
    runCommand('go', args, { cwd, env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' } });

function cores(): string {
  const count = availableParallelism();
  return count === 1 ? '1 core' : `${count} cores`;
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
