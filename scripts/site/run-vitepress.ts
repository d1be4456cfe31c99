import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeJsonSchemas } from './json-schemas.ts';

const root = path.join(import.meta.dirname, '../..');

/** Installs the packages of the site in a checkout, unless they were installed from the same lock file. */
function installPackages(site: string): void {
  const stamp = path.join(site, 'node_modules/.installed-from');
  const hash = createHash('sha256')
    .update(readFileSync(path.join(site, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  console.error('installing the packages of the site (npm ci) …');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', ['ci', ...options], { cwd: site, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error('npm ci failed in site/; it needs the npm registry, or a mirror in your ~/.npmrc');
  writeFileSync(stamp, hash);
}

/** Returns the arguments of Node that run VitePress in a checkout. */
function vitepress(checkout: string, options: string[]): string[] {
  const site = path.join(checkout, 'site');
  installPackages(site);
  const [command, ...rest] = options;
  return [path.join(site, 'node_modules/vitepress/bin/vitepress.js'), command!, site, ...rest];
}

/** Serves the pages of this checkout until it is stopped. */
export function serveSite(options: string[]): void {
  const child = spawn(process.execPath, vitepress(root, ['dev', ...options]), { stdio: 'inherit' });
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

/** Checks the types of the configuration and the theme in this checkout. Needs the packages of the site. */
function checkTypes(): void {
  const { status } = spawnSync(path.join(root, 'node_modules/.bin/tsc'), ['--project', 'site'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the types of the site are wrong, see above');
}

/**
 * Builds the site of a checkout with the JSON Schemas of its CRDs, as a version of the published site if `version` is set.
 * Throws an error if it fails.
 */
export async function buildSite(options: string[], { checkout = root, version = '' } = {}): Promise<void> {
  const build = vitepress(checkout, ['build', ...options]);
  if (checkout === root) checkTypes();
  const { status } = spawnSync(process.execPath, build, {
    stdio: 'inherit',
    env: { ...process.env, DOCS_VERSION: version },
  });
  if (status !== 0) throw new Error(`the site ${version && `of ${version} `}could not be built, see above`);
  await writeJsonSchemas(checkout, path.join(checkout, 'site/.vitepress/dist/schemas/sync.io'));
}
