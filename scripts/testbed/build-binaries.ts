import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand, succeeds } from './run-command.ts';
import { type BinaryName, kubernetesStagingVersion, type Source, sources } from './versions.ts';

/** Returns whether `go` is on the PATH. */
export const hasGo = (): Promise<boolean> => succeeds('go', ['version']);

/** Builds one binary from its Go module; `modules` caches data for later builds. */
export async function buildBinary(name: BinaryName, modules: string, file: string): Promise<void> {
  const source = sources[name];
  // By version, because the replacements belong to one release.
  const cwd = path.join(modules, `${source.module}-${source.version}`);
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
}

/** Copies the data, because Go's module cache may be emptied while the binary is kept. */
async function copyData(go: ReturnType<typeof goIn>, { package: name, data = [] }: Source, directory: string) {
  const module = (await go('list', '-m', '-f', '{{.Dir}}', name)).trim();
  for (const each of data) await runCommand('cp', ['-R', '-L', path.join(module, each), directory]);
  await runCommand('chmod', ['-R', 'u+w', ...data.map((each) => path.join(directory, each))]);
}

/** Creates a Go module that requires the tool: `go install` refuses modules with `replace` lines, as Kubernetes has. */
async function prepareModule(directory: string, source: Source): Promise<void> {
  await mkdir(directory, { recursive: true });
  const replacing = source.module === 'kubernetes' ? 'k8s.io/kubernetes' : source.replaces && source.package;
  const replacements = replacing ? await replacementsOf(directory, source, replacing) : [];
  const lines = [`module testbed/${source.module}`, 'go 1.24', ...replacements, ''];
  const file = path.join(directory, 'go.mod');
  if (!existsSync(file)) await writeFile(file, lines.join('\n'));
}

/**
 * Returns the modules that a module replaces. Kubernetes requires its staging modules as v0.0.0 from its own tree; they are
 * published with real versions.
 */
async function replacementsOf(directory: string, { version }: Source, module: string): Promise<string[]> {
  const download = await goIn(directory)('mod', 'download', '-json', `${module}@v${version}`);
  const text = await readFile((JSON.parse(download) as { GoMod: string }).GoMod, 'utf8');
  const staged = text.matchAll(/(k8s\.io\/[a-z-]+) => \.\/staging/g);
  return [
    ...[...staged].map(([, name]) => `replace ${name} => ${name} v${kubernetesStagingVersion}`),
    ...[...text.matchAll(/^replace .* => \S+ v\S+/gm)].map(([line]) => line),
  ];
}

const goIn =
  (cwd: string, { cgo }: Pick<Source, 'cgo'> = {}) =>
  (...args: string[]) => {
    const env = { ...process.env, CGO_ENABLED: cgo ? '1' : '0', GOWORK: 'off' };
    return runCommand('go', args, { cwd, env });
  };
