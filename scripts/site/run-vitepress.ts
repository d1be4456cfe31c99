import { spawn, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeJsonSchemas } from './json-schemas.ts';

const root = path.join(import.meta.dirname, '../..');
/** Directory of the site, with its packages. */
export const site = path.join(root, 'site');

/** Installs the packages of the site, unless they were installed from the same lock file. */
export function installPackages(): void {
  const stamp = path.join(site, 'node_modules/.installed-from');
  const lock = hash('sha256', readFileSync(path.join(site, 'package-lock.json')));
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  console.error('installing the packages of the site (npm ci) …');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', ['ci', ...options], { cwd: site, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error('npm ci failed in site/; it needs the npm registry, or a mirror in your ~/.npmrc');
  writeFileSync(stamp, lock);
}

/** Returns the arguments of Node that run VitePress. */
function vitepress([command = '', ...options]: string[]): string[] {
  installPackages();
  return [path.join(site, 'node_modules/vitepress/bin/vitepress.js'), command, site, ...options];
}

/** Serves the pages of this checkout until it is stopped. */
export function serveSite(options: string[]): void {
  const child = spawn(process.execPath, vitepress(['dev', ...options]), { stdio: 'inherit' });
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

/**
 * Checks the types of the configuration and the theme, and builds the site with the JSON Schemas of the CRDs, as a version
 * of the published site if `version` is set. Returns the directory with the files. Throws an error if it fails.
 */
export async function buildSite(options: string[], version = ''): Promise<string> {
  const build = vitepress(['build', ...options]);
  run([path.join(root, 'node_modules/typescript/bin/tsc'), '--project', site], 'the types of the site are wrong');
  run(build, 'the site could not be built', { DOCS_VERSION: version });
  const built = path.join(site, '.vitepress/dist');
  await writeJsonSchemas(path.join(built, 'schemas/sync.io'));
  return built;
}

/** Runs a program with Node, and throws an error if it fails. */
function run(args: string[], problem: string, environment = {}): void {
  const env = { ...process.env, ...environment };
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env });
  if (status !== 0) throw new Error(`${problem}, see above`);
}
