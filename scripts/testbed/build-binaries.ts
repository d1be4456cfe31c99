import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from './run-command.ts';
import { type BinaryName, kubernetesStagingVersion, kubernetesVersion, type Source, sources } from './versions.ts';

/** Tells whether `go` is on the PATH. */
export async function hasGo(): Promise<boolean> {
  return await runCommand('go', ['version']).then(
    () => true,
    () => false,
  );
}

/** Builds one binary from its Go module, at low priority, and says so on stderr; `modules` keeps what later builds can use. */
export async function buildBinary(name: BinaryName, modules: string, file: string): Promise<void> {
  const source = sources[name];
  // By version: what it replaces is of one release.
  const cwd = path.join(modules, `${source.module}-${source.version}`);
  const started = performance.now();
  process.stderr.write(`  ${name} ${source.version}: building …\n`);
  await prepareModule(cwd, source);
  const go = goIn(cwd, source);
  await go('get', '-tool', `${source.package}@v${source.moduleVersion ?? source.version}`);
  const stamps = Object.entries(source.stamps).map(([variable, value]) => `-X ${variable}=${value}`);
  const unfinished = `${file}.${process.pid}`;
  await mkdir(path.dirname(file), { recursive: true });
  try {
    const flags = ['-ldflags', ['-s -w', ...stamps].join(' '), '-tags', (source.tags ?? []).join(',')];
    await go('build', ...flags, '-o', unfinished, source.package);
    if (source.data) await copyData(go, source, path.dirname(file));
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
  process.stderr.write(
    `  ${name} ${source.version}: built in ${((performance.now() - started) / 1000).toFixed(0)} s\n`,
  );
}

/** The cache of Go's modules may be emptied while the binary stays. */
async function copyData(go: ReturnType<typeof goIn>, { package: name, data = [] }: Source, folder: string) {
  const module = (await go('list', '-m', '-f', '{{.Dir}}', name)).trim();
  for (const each of data) await runCommand('cp', ['-R', '-L', path.join(module, each), folder]);
  await runCommand('chmod', ['-R', 'u+w', ...data.map((each) => path.join(folder, each))]);
}

/** Our own Go module that requires the tool: `go install` refuses modules with `replace` lines, such as Kubernetes. */
async function prepareModule(folder: string, source: Source): Promise<void> {
  const { module, replaces } = source;
  await mkdir(folder, { recursive: true });
  let replacements: string[] = [];
  if (module === 'kubernetes') replacements = await stagingReplacements(folder);
  else if (replaces) replacements = await ownReplacements(folder, source);
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

/** What a module replaces by another one. */
async function ownReplacements(folder: string, source: Source): Promise<string[]> {
  const download = await goIn(folder)('mod', 'download', '-json', `${source.package}@v${source.version}`);
  const { GoMod } = JSON.parse(download) as { GoMod: string };
  return [...(await readFile(GoMod, 'utf8')).matchAll(/^replace .* => \S+ v\S+/gm)].map(([line]) => line);
}

/** Below the tests that run meanwhile. */
const LOW_PRIORITY = 19;

const goIn =
  (cwd: string, { cgo }: Pick<Source, 'cgo'> = {}) =>
  (...args: string[]) => {
    const env = { ...process.env, CGO_ENABLED: cgo ? '1' : '0', GOWORK: 'off' };
    return runCommand('go', args, { cwd, env, priority: LOW_PRIORITY });
  };

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
